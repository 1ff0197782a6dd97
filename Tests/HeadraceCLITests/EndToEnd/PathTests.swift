import HeadracePlatform
import HeadraceTestSupport
import Testing

/// Runs the built tool with names that are special to a shell or to Foundation.
@Suite(.timeLimit(.minutes(4)))
struct PathTests {
    private static let body = Response.Body.pattern(size: 1000)

    @Test(arguments: [
        (["-d", "~"], "~/x"), (["-d", "~/d"], "~/d/x"), (["-o", "~"], "~"), (["-o", "~/y"], "~/y"),
        (["-o", "~nobody/y"], "~nobody/y"), (["-d", "d", "-o", "~/y"], "d/~/y"), (["-d", "~", "-o", "~"], "~/~"),
    ])
    func `a leading tilde is part of a name`(_ options: [String], place: String) async throws {
        try await withFaultServer(.ok(Self.body)) { server in
            try await withTemporaryDirectory { folder in
                var process = try ToolProcess(["get", "-q"] + options + [server.url("/x").absoluteString], in: folder)
                let result = try await process.result()
                #expect(result.status == 0, "\(result.errors)")
                #expect(Self.body.difference(fromFileAt: folder.appending(path: place)) == nil)
            }
        }
    }

    /// Regression: `..` was removed with the component before it, and an unrelated file was replaced.
    @Test func `the parent of a symbolic link is that of its target`() async throws {
        try await withFaultServer(.ok(Self.body)) { server in
            try await withTemporaryDirectory { folder in
                let (link, sub) = (folder.appending(path: "link"), folder.appending(path: "other/sub"))
                try FileManager.default.createDirectory(at: sub, withIntermediateDirectories: true)
                try FileManager.default.createSymbolicLink(at: link, withDestinationURL: sub)
                let url = server.url("/x").absoluteString
                for options in [["-o", "link/.././a"], ["-d", "link/..", "-o", "b"], ["-d", "./link/.."]] {
                    var process = try ToolProcess(["get", "-q"] + options + [url], in: folder)
                    let result = try await process.result()
                    #expect(result.status == 0, "\(result.errors)")
                }
                for name in ["a", "b", "x"] {
                    #expect(Self.body.difference(fromFileAt: folder.appending(path: "other/\(name)")) == nil)
                }
                let names = try FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false))
                #expect(names.filter { !$0.hasPrefix(".") }.sorted() == ["link", "other"])
            }
        }
    }

    @Test(arguments: [#"../\u0301x"#, #"/\u200dx"#, "../x", "a/../../x", "/x", "x/", "", ".", "x/."])
    func `a name in a list does not lead out of the directory`(_ name: String) async throws {
        try await withFaultServer(.ok(Self.body)) { server in
            try await withTemporaryDirectory { folder in
                let line = #"{"url":"\#(server.url("/x").absoluteString)","output":"\#(name)"}"#
                let result = try await ToolProcess.run("get", "-d", "d", "-i", "-", in: folder, input: line + "\n")
                #expect(result.status == 2 && result.errors.contains("is not the name of a file in the directory"))
                #expect(server.requests.isEmpty)
            }
        }
    }

    @Test(arguments: ["~", "~nobody", "~/a"])
    func `a file whose name starts with a tilde is verified`(_ name: String) async throws {
        try await withTemporaryDirectory { folder in
            let file = folder.appending(path: name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try Data("abc".utf8).write(to: file)
            let list = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  \(name)\n"
            try Data(list.utf8).write(to: folder.appending(path: "SUMS"))
            for words in [[name], []] {
                var process = try ToolProcess(["verify", "--checksum-file", "SUMS"] + words, in: folder)
                let result = try await process.result()
                #expect(result.status == 0, "\(result.errors)")
            }
        }
    }

    @Test func `a removed current directory is reported if files would be saved below it`() async throws {
        try await withFaultServer(.ok(Self.body)) { server in
            try await withTemporaryDirectory { folder in
                let place = folder.appending(path: "x").path(percentEncoded: false)
                for (options, status) in [([], 5), (["-o", "x"], 5), (["-o", place], 0)] {
                    var process = try ToolProcess(
                        ["get", "-q"] + options + [server.url("/x").absoluteString],
                        in: folder,
                        after: #"mkdir "$0/gone"; cd "$0/gone"; rmdir ../gone; exec "$@""#
                    )
                    let result = try await process.result()
                    #expect(result.status == status)
                    let message = "headrace: The current directory cannot be used: no such file or directory."
                    #expect(result.errors.hasPrefix(message) == (status == 5), "\(result.errors)")
                }
            }
        }
    }

    @Test func `a current directory whose path is not UTF-8 is rejected`() async throws {
        try await withFaultServer(.ok(Self.body)) { server in
            try await withTemporaryDirectory { folder in
                var process = try ToolProcess(
                    ["get", "-q", server.url("/x").absoluteString],
                    in: folder,
                    after: #"cd "$0"; d=$(printf 'a\377b'); mkdir "$d"; cd "$d"; exec "$@""#
                )
                let result = try await process.result()
                #expect(result.status == 5)
                #expect(result.errors.hasPrefix("headrace: The current directory cannot be used: "), "\(result.errors)")
                #expect(server.connectionCount == 0)
            }
        }
    }

    @Test(arguments: ["-o", "-d", "--checksum-file", ""])
    func `an argument that is not UTF-8 is rejected, not repaired`(_ option: String) async throws {
        try await withFaultServer(.ok(Self.body)) { server in
            try await withTemporaryDirectory { folder in
                var process = try ToolProcess(
                    ["get", "-q", server.url("/x").absoluteString],
                    in: folder,
                    after: #"set -- "$@" \#(option) "$(printf 'a\377b')""#
                )
                let result = try await process.result()
                #expect(result.status == 2)
                #expect(result.errors.hasPrefix("headrace: argument \(option.isEmpty ? 4 : 5) is not valid UTF-8"))
                #expect(server.connectionCount == 0)
                #expect(try FileProbe.names(in: folder).filter { !$0.hasPrefix(".std") } == [])
            }
        }
    }
}
