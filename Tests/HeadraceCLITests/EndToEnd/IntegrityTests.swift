import Headrace
import HeadracePlatform
import HeadraceTestSupport
import Testing

/// Runs the built tool with checksums of downloads and of existing files.
@Suite(.timeLimit(.minutes(4)))
struct IntegrityTests {
    /// `abc`, whose SHA-256 is published (FIPS 180-4).
    private let digits = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    private var wrong: String { String(digits.reversed()) }

    private func names(in folder: URL) throws -> [String] {
        try FileProbe.names(in: folder).filter { !$0.hasPrefix(".std") }
    }

    @Test
    func `V13 a correct checksum gives status 0, a wrong one status 6 and no file of the name`() async throws {
        try await withFaultServer(.ok("abc")) { server in
            try await withTemporaryDirectory { folder in
                let url = server.url("/a").absoluteString
                let good = try await ToolProcess.run("get", "-v", "--checksum", "sha256=\(digits)", url, in: folder)
                #expect(good.status == 0)
                #expect(good.errorLines.contains("a: verified, sha256:\(digits)"), "\(good.errors)")
                let bad = try await ToolProcess.run(
                    "get",
                    "--json",
                    "-o",
                    "b",
                    "--checksum",
                    "sha256:\(wrong)",
                    url,
                    in: folder
                )
                #expect(bad.status == 6)
                #expect(bad.errors.contains(digits) && bad.errors.contains(wrong))
                #expect(!bad.output.contains("\"event\":\"restarted\"") && bad.output.contains("\"code\":\"checksum\""))
                #expect(bad.output.contains("\"exitStatus\":6") && bad.errors.contains("/b.mismatch. Compare"))
                #expect(try names(in: folder) == ["a", "b.mismatch"])
                #expect(try FileProbe.bytes(of: folder.appending(path: "b.mismatch")) == Array("abc".utf8))
                #expect(server.requests.count == 2)
            }
        }
    }

    @Test func `with --on-mismatch delete, a file with a wrong checksum leaves nothing`() async throws {
        try await withFaultServer(.ok("abc")) { server in
            try await withTemporaryDirectory { folder in
                let url = server.url("/a").absoluteString
                let checksum = "sha256=\(wrong)"
                let options = ["--on-mismatch", "delete", "--checksum", checksum, url]
                for (command, status) in [
                    (["get"] + options, 6), (["queue", "add", "--registry", "list"] + options, 0),
                    (["queue", "run", "--registry", "list"], 6),
                ] {
                    var process = try ToolProcess(command, in: folder)
                    let result = try await process.result()
                    #expect(result.status == status, "\(result.errors)")
                    #expect(result.errors.contains("It was deleted.") == (status == 6), "\(result.errors)")
                }
                #expect(try names(in: folder) == ["list"])
            }
        }
    }

    @Test(arguments: [true, false])
    func `a checksum file is read from disk or from its URL`(_ isURL: Bool) async throws {
        let list = "\(digits)  a\n\(wrong) *b\n"
        let routes = ["/a": Response.ok("abc"), "/b": .ok("abc"), "/SUMS": .ok(Response.Body(stringLiteral: list))]
        try await withFaultServer(.routes(routes)) { server in
            try await withTemporaryDirectory { folder in
                try Data(list.utf8).write(to: folder.appending(path: "SUMS"))
                let place = isURL ? server.url("/SUMS").absoluteString : "SUMS"
                let urls = ["/a", "/b"].map { server.url($0).absoluteString }
                let result = try await ToolProcess.run(
                    "get",
                    "-q",
                    "-d",
                    "out",
                    "--checksum-file",
                    place,
                    urls[0],
                    urls[1],
                    in: folder
                )
                #expect(result.status == 6, "\(result.errors)")
                #expect(result.errorLines.count == 1)
                #expect(try FileProbe.names(in: folder.appending(path: "out")) == ["a", "b.mismatch"])
            }
        }
    }

    @Test
    func `files of a Metalink document are also verified against a checksum file, in a queue too`() async throws {
        try await withFaultServer(.ok("abc")) { server in
            try await withTemporaryDirectory { folder in
                let url = server.url("/m").absoluteString
                let document = """
                    <metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="a"><url>\(url)</url></file></metalink>
                    """
                for (name, text) in [
                    ("M", document), ("RIGHT", "\(digits)  a"), ("WRONG", "\(wrong)  a"), ("OTHER", "\(digits)  m"),
                ] {
                    try Data(text.utf8).write(to: folder.appending(path: name))
                }
                let queue = ["queue", "add", "--registry", "list"]
                let there = try names(in: folder)
                for (list, status) in [("WRONG", 6), ("OTHER", 2), ("RIGHT", 0)] {
                    for command in [["get"], queue] {
                        var process = try ToolProcess(
                            command + ["-q", "--metalink", "M", "--checksum-file", list],
                            in: folder
                        )
                        var result = try await process.result()
                        if command == queue, result.status == 0 {
                            result = try await ToolProcess.run("queue", "run", "-q", "--registry", "list", in: folder)
                            try FileManager.default.removeItem(at: folder.appending(path: "list"))
                        }
                        #expect(result.status == status, "\(list): \(result.errors)")
                        if status == 2 {
                            let message = "--checksum-file: OTHER has no checksum, or conflicting ones, for a"
                            #expect(result.errors == "headrace: \(message)\n")
                        }
                    }
                    #expect(try Set(names(in: folder)) == Set(there + ["a.mismatch"] + (status == 0 ? ["a"] : [])))
                }
            }
        }
    }

    @Test
    func `a Metalink document with only a size has the size verified`() async throws {
        let routes = ["/long": Response.ok("abcd"), "/chunked": .ok("abcd").chunked(), "/right": .ok("abc").chunked()]
        try await withFaultServer(.routes(routes)) { server in
            try await withTemporaryDirectory { folder in
                for (paths, status) in [
                    (["/long"], 6), (["/chunked"], 6), (["/long", "/chunked"], 6), (["/long", "/right"], 0),
                ] {
                    let urls = paths.map { "<url>\(server.url($0).absoluteString)</url>" }.joined()
                    let document = """
                        <metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="a"><size>3</size>\(urls)</file></metalink>
                        """
                    try Data(document.utf8).write(to: folder.appending(path: "a.meta4"))
                    let result = try await ToolProcess.run("get", "--metalink", "a.meta4", in: folder)
                    #expect(result.status == status, "\(result.errors)")
                    #expect(try names(in: folder) == (status == 0 ? ["a", "a.meta4"] : ["a.meta4"]))
                    if status == 6 { #expect(result.errors.contains("3 are expected"), "\(result.errors)") }
                    if paths == ["/long"] { #expect(result.errors.contains("4 bytes"), "\(result.errors)") }
                }
            }
        }
    }

    @Test
    func `an unavailable checksum file ends the run before it starts`() async throws {
        try await withFaultServer(.routes(["/a": .ok("abc"), "/html": .ok("<html>")])) { server in
            try await withTemporaryDirectory { folder in
                let url = server.url("/a").absoluteString
                for (place, status) in [
                    ("missing", 2), (server.url("/gone").absoluteString, 4), (server.url("/html").absoluteString, 4),
                ] {
                    let result = try await ToolProcess.run("get", "-q", "--checksum-file", place, url, in: folder)
                    #expect(result.status == status)
                    #expect(result.errors.hasPrefix("headrace: --checksum-file: \(place): "), "\(result.errors)")
                }
                #expect(try names(in: folder) == [])
            }
        }
    }

    @Test
    func `verify checks existing files`() async throws {
        try await withTemporaryDirectory { folder in
            for (name, text) in [("a", "abc"), ("b", "abd"), ("SUMS", "\(digits)  a\n\(digits)  b\n\(digits)  gone\n")]
            {
                try Data(text.utf8).write(to: folder.appending(path: name))
            }
            let one = try await ToolProcess.run("verify", "--checksum", "sha256=\(digits)", "a", in: folder)
            #expect(one.status == 0 && one.errors.isEmpty)
            #expect(one.output == "a: OK, sha256:\(digits)\n")
            let both = try await ToolProcess.run("verify", "--checksum-file", "SUMS", "./a", "b", in: folder)
            #expect(both.status == 6)
            #expect(both.outputLines == ["./a: OK, sha256:\(digits)"])
            #expect(both.errorLines.count == 2 && both.errors.hasPrefix("headrace: b: the checksum is sha256:"))
            let json = try await ToolProcess.run("verify", "--json", "--checksum-file", "SUMS", "b", in: folder)
            #expect(json.output.contains("\"event\":\"failed\",\"file\":\"b\",\"code\":\"checksum\""), "\(json.output)")
            let gone = try await ToolProcess.run("verify", "-q", "--checksum-file", "SUMS", "a", "gone", in: folder)
            #expect(gone.status == 5 && gone.output.isEmpty)
            for line in [["verify", "a"], ["verify", "--checksum", "md5=00", "a"], ["verify"]] {
                var process = try ToolProcess(line, in: folder)
                #expect(try await process.result().status == 2)
            }
        }
    }

    @Test
    func `repair downloads the damaged pieces of a file`() async throws {
        let whole = Resource(.bytes(Array("abcabcabc".utf8)))
        try await withFaultServer(.file(whole)) { server in
            try await withTemporaryDirectory { folder in
                let url = server.url("/a").absoluteString
                let pieces = String(repeating: "<hash>\(digits)</hash>", count: 3)
                let document = """
                    <metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="a"><size>9</size>
                    <pieces length="3" type="sha-256">\(pieces)</pieces><url>\(url)</url></file></metalink>
                    """
                try Data(document.utf8).write(to: folder.appending(path: "a.meta4"))
                for (there, events) in [
                    ("abcabcabX", ["repairing", "finished"]), ("abcabcabc", ["unchanged"]), ("", ["finished"]),
                    ("abcabcabcXY", ["repairing", "finished"]),
                ] {
                    try Data(there.utf8).write(to: folder.appending(path: "a"))
                    let result = try await ToolProcess.run("repair", "--json", "a", "--metalink", "a.meta4", in: folder)
                    #expect(result.status == 0, "\(result.errors)")
                    for event in events {
                        #expect(result.output.contains("\"event\":\"\(event)\""), "\(result.output)")
                    }
                    #expect(try FileProbe.bytes(of: folder.appending(path: "a")) == Array("abcabcabc".utf8))
                    #expect(try names(in: folder) == ["a", "a.meta4"])
                }
                #expect(server.requests.map { $0["Range"] } == ["bytes=6-", nil])
            }
        }
    }

    @Test
    func `repair keeps the file if the source is wrong too, and reports missing arguments`() async throws {
        try await withFaultServer(.ok("abd")) { server in
            try await withTemporaryDirectory { folder in
                try Data("abX".utf8).write(to: folder.appending(path: "a"))
                let (url, checksum) = (server.url("/a").absoluteString, "sha256=\(digits)")
                let result = try await ToolProcess.run("repair", "-q", "a", url, "--checksum", checksum, in: folder)
                #expect(result.status == 6)
                #expect(try FileProbe.bytes(of: folder.appending(path: "a")) == Array("abX".utf8))
                let link = folder.appending(path: "link").path(percentEncoded: false)
                try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "a")
                for (line, word) in [
                    (["repair"], "no file"), (["repair", "a", url], "no checksum given"),
                    (["repair", "a", "--checksum", checksum], "no URL"), (["repair", "none", url], "no such file"),
                    (["repair", "link", url, "--checksum", checksum], "this is a symbolic link"),
                ] {
                    var process = try ToolProcess(line, in: folder)
                    let result = try await process.result()
                    #expect(result.status == 2 && result.errors.contains(word), "\(result.errors)")
                }
            }
        }
    }

    @Test
    func `the queue saves the checksum`() async throws {
        try await withFaultServer(.ok("abc")) { server in
            try await withTemporaryDirectory { folder in
                let url = server.url("/a").absoluteString
                let added = try await ToolProcess.run(
                    "queue",
                    "add",
                    "--registry",
                    "list",
                    "--checksum",
                    "sha256=\(wrong)",
                    url,
                    in: folder
                )
                #expect(added.status == 0)
                let run = try await ToolProcess.run("queue", "run", "--registry", "list", in: folder)
                #expect(run.status == 6, "\(run.errors)")
                #expect(try names(in: folder) == ["a.mismatch", "list"])
            }
        }
    }
}
