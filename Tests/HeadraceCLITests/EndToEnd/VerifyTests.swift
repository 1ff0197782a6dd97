import HeadracePlatform
import HeadraceTestSupport
import Testing

/// Runs the built tool to verify files against checksum files and Metalink documents.
@Suite(.timeLimit(.minutes(4)))
struct VerifyTests {
    /// `abc`, whose SHA-256 is published (FIPS 180-4).
    private let digits = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

    private func write(_ files: [String: String], in folder: URL) throws {
        for (name, text) in files { try Data(text.utf8).write(to: folder.appending(path: name)) }
    }

    @Test
    func `all listed files are verified, and wrong or missing ones are reported`() async throws {
        try await withTemporaryDirectory { folder in
            let below = folder.appending(path: "dir")
            try FileManager.default.createDirectory(at: below, withIntermediateDirectories: false)
            let list = "\(digits)  a\n\(digits) *dir/b\nno checksum\n"
            try write(["a": "abc", "dir/b": "abc", "SUMS": list], in: folder)
            let fine = try await ToolProcess.run("verify", "--checksum-file", "SUMS", in: folder)
            #expect(fine.status == 0)
            #expect(fine.outputLines == ["a: OK, sha256:\(digits)", "dir/b: OK, sha256:\(digits)"])
            #expect(
                fine.errorLines == ["headrace: --checksum-file: SUMS: 1 line is malformed", "2 of 2 verified"],
                "\(fine.errors)"
            )
            let strict = try await ToolProcess.run("verify", "--strict", "--checksum-file", "SUMS", in: folder)
            #expect(strict.status == 6)
            #expect(strict.output == fine.output && strict.errors == fine.errors)
            try write(["a": "abd", "SUMS": list + "\(digits)  gone\n"], in: folder)
            let bad = try await ToolProcess.run("verify", "--checksum-file", "SUMS", in: folder)
            #expect(bad.status == 1)
            #expect(bad.outputLines == ["dir/b: OK, sha256:\(digits)"])
            #expect(bad.errorLines.last == "1 of 3 verified, 1 wrong, 1 could not be read")
            #expect(bad.errors.contains("headrace: gone: ") && bad.errors.contains("headrace: a: the checksum is "))
            try FileManager.default.removeItem(at: folder.appending(path: "a"))
            let missing = try await ToolProcess.run("verify", "-q", "--checksum-file", "SUMS", in: folder)
            #expect(missing.status == 5)
            #expect(missing.output.isEmpty && missing.errorLines.count == 2)
        }
    }

    @Test(arguments: [("B2SUMS", "BLAKE2"), ("a.b3sum", "BLAKE3"), ("http://127.0.0.1:1/x/blake2b.txt?a=b", "BLAKE2")])
    func `a checksum file named after an unsupported hash function is rejected`(
        _ list: String,
        _ function: String
    ) async throws {
        try await withTemporaryDirectory { folder in
            try write(["a": "abc", "B2SUMS": "\(digits)  a\n", "a.b3sum": "\(digits)\n"], in: folder)
            let result = try await ToolProcess.run("verify", "--checksum-file", list, "a", in: folder)
            #expect(result.status == 2)
            #expect(result.errors.contains("the name suggests \(function) checksums"), "\(result.errors)")
        }
    }

    @Test
    func `--ignore-missing skips missing files, but not all of them`() async throws {
        try await withTemporaryDirectory { folder in
            try write(["a": "abc", "SUMS": "\(digits)  a\n\(digits)  gone\n", "NONE": "\(digits)  gone\n"], in: folder)
            let line = ["verify", "--ignore-missing", "--checksum-file"]
            for (words, status, last) in [
                (["SUMS"], 0, "1 of 1 verified, 1 missing"),
                (["NONE"], 5, "headrace: None of the listed files exists."),
                (["SUMS", "gone"], 5, "headrace: gone: "),
            ] {
                var process = try ToolProcess(line + words, in: folder)
                let result = try await process.result()
                #expect(result.status == status)
                #expect(result.errorLines.last?.hasPrefix(last) == true, "\(result.errors)")
            }
        }
    }

    /// Regression: they were skipped like missing files.
    @Test
    func `files that cannot be accessed are not missing`() async throws {
        try await withTemporaryDirectory { folder in
            let loop = folder.appending(path: "loop").path
            try FileManager.default.createSymbolicLink(atPath: loop, withDestinationPath: "loop")
            let names = ["a/x", "loop", String(repeating: "n", count: 300)]
            let list = (["a", "gone"] + names).map { "\(digits)  \($0)\n" }.joined()
            try write(["a": "abc", "SUMS": list], in: folder)
            let line = ["verify", "--ignore-missing", "--checksum-file", "SUMS"]
            var process = try ToolProcess(line, in: folder)
            let result = try await process.result()
            #expect(result.status == 5)
            #expect(result.errorLines.count == 4, "\(result.errors)")
            for (name, line) in zip(names, result.errorLines) { #expect(line.hasPrefix("headrace: \(name): ")) }
            #expect(result.errorLines.last == "1 of 4 verified, 3 could not be read, 1 missing")
            for (name, reason) in [("a/x", "not a directory"), ("loop", "too many levels of symbolic links")] {
                let repair = try await ToolProcess.run("repair", name, "http://127.0.0.1:1/a", in: folder)
                #expect(repair.status == 2)
                #expect(repair.errors == "headrace: \(name): \(reason)\n")
            }
        }
    }

    #if os(Linux)
    @Test
    func `two files whose names differ only in their bytes are both verified`() async throws {
        try await withTemporaryDirectory { folder in
            let (right, wrong) = ("gr\u{fc}n", "gru\u{308}n")
            let list = "\(digits)  \(right)\n\(digits)  \(wrong)\n"
            for (name, text) in [(right, "abc"), (wrong, "abd"), ("SUMS", list)] {
                try Data(text.utf8).write(to: folder.appending(path: name))
            }
            let result = try await ToolProcess.run("verify", "--checksum-file", "SUMS", in: folder)
            #expect(result.status == 6)
            #expect(result.outputLines == ["\(right): OK, sha256:\(digits)"])
            #expect(result.errorLines.last == "1 of 2 verified, 1 wrong")
        }
    }

    @Test(arguments: [[], ["--json"]])
    func `failing standard output is reported without blaming a file`(_ options: [String]) async throws {
        try await withTemporaryDirectory { folder in
            try write(["a": "abc", "b": "abc", "SUMS": "\(digits)  a\n\(digits)  b\n"], in: folder)
            let line = ["verify", "--checksum-file", "SUMS"] + options
            var process = try ToolProcess(line, in: folder, output: "/dev/full")
            let result = try await process.result()
            #expect(result.status == 5)
            #expect(result.errors == "headrace: cannot write to standard output: no space left on device\n")
        }
    }
    #endif

    @Test
    func `a file is found by its path in a checksum file of several folders`() async throws {
        try await withTemporaryDirectory { folder in
            for name in ["va", "vb"] {
                let place = folder.appending(path: name)
                try FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
            }
            let other = String(digits.reversed())
            try write(["va/x": "abc", "vb/x": "abc", "SUMS": "\(digits)  va/x\n\(other)  vb/x\n"], in: folder)
            let result = try await ToolProcess.run("verify", "./va/x", "vb/x", "--checksum-file", "SUMS", in: folder)
            #expect(result.status == 6)
            #expect(result.outputLines == ["./va/x: OK, sha256:\(digits)"])
            #expect(result.errors.hasPrefix("headrace: vb/x: the checksum is sha256:\(digits)"), "\(result.errors)")
        }
    }

    @Test
    func `a checksum file passed as FILE is recognized, and the option for it is suggested`() async throws {
        try await withTemporaryDirectory { folder in
            try write(["a": "abc", "SUMS": "\(digits)  a\n"], in: folder)
            let list = try await ToolProcess.run("verify", "SUMS", in: folder)
            #expect(list.status == 2)
            let advice = "SUMS is a checksum file, so use headrace verify --checksum-file SUMS"
            #expect(list.errors == "headrace: no checksum given; \(advice)\n")
            let file = try await ToolProcess.run("verify", "a", in: folder)
            #expect(file.errors.hasSuffix("; use --checksum, --checksum-file or --metalink\n"), "\(file.errors)")
        }
    }

    @Test
    func `a file with another name is compared with the only file of a document`() async throws {
        try await withFaultServer(.ok("abc")) { server in
            try await withTemporaryDirectory { folder in
                let url = "<url>\(server.url("/a").absoluteString)</url>"
                let file = "<file name='a'><hash type='sha-256'>\(digits)</hash>\(url)</file>"
                let head = "<metalink xmlns='urn:ietf:params:xml:ns:metalink'>"
                try write(
                    [
                        "mine": "abc", "one": "\(head)\(file)</metalink>",
                        "two": "\(head)\(file)<file name='b'>\(url)</file></metalink>",
                    ],
                    in: folder
                )
                let note = "headrace: --metalink: comparing mine with a, the only file described"
                for command in ["verify", "repair"] {
                    let result = try await ToolProcess.run(command, "mine", "--metalink", "one", in: folder)
                    #expect(result.status == 0)
                    #expect(result.errorLines.first == note, "\(result.errors)")
                    let quiet = try await ToolProcess.run(command, "-q", "mine", "--metalink", "one", in: folder)
                    #expect(quiet.status == 0 && quiet.errors.isEmpty)
                    let other = try await ToolProcess.run(command, "mine", "--metalink", "two", in: folder)
                    #expect(other.status == 2)
                    #expect(other.errors == "headrace: --metalink: no file named mine is described\n")
                }
            }
        }
    }

    @Test
    func `files are verified against the checksums and pieces of a document`() async throws {
        try await withTemporaryDirectory { folder in
            let pieces = String(repeating: "<hash>\(digits)</hash>", count: 3)
            let document = """
                <metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="a">
                <pieces length="3" type="sha-256">\(pieces)</pieces></file>
                <file name="b"><hash type="sha-256">\(digits)</hash></file></metalink>
                """
            try write(["a": "abcabcabc", "b": "abc", "list.meta4": document], in: folder)
            let fine = try await ToolProcess.run("verify", "--metalink", "list.meta4", in: folder)
            #expect(fine.status == 0, "\(fine.errors)")
            #expect(fine.outputLines == ["a: OK, 3 pieces", "b: OK, sha256:\(digits)"])
            let json = try await ToolProcess.run("verify", "--json", "--metalink", "list.meta4", "a", in: folder)
            #expect(json.outputLines.last == #"{"event":"piecesVerified","file":"a","pieces":3}"#)
            try write(["a": "abcXbcab"], in: folder)
            let bad = try await ToolProcess.run("verify", "--metalink", "list.meta4", "./a", in: folder)
            #expect(bad.status == 6)
            let message = "some pieces do not match their checksums; 5 B are damaged; repair them with headrace repair"
            #expect(bad.errorLines == ["headrace: ./a: \(message)"])
            for line in [["verify", "--metalink", "list.meta4", "c"], ["verify", "--metalink", "none"]] {
                var process = try ToolProcess(line, in: folder)
                #expect(try await process.result().status == 2)
            }
        }
    }

    /// Regression: a correct checksum, or that of no bytes, hid a wrong size.
    @Test
    func `a file is verified against the size in its document`() async throws {
        try await withTemporaryDirectory { folder in
            let nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
            let hash = "<hash type='sha-256'>\(digits)</hash>"
            let piece = "<pieces length='5' type='sha-256'><hash>\(nothing)</hash></pieces>"
            try write(["a": "abc", "none": ""], in: folder)
            let part = "5 B are damaged; repair them with headrace repair"
            for (name, contents, problem) in [
                ("a", "<size>3</size>\(hash)", nil),
                ("a", "<size>9</size>\(hash)", "the size is 3 bytes, expected 9"),
                ("none", "<size>5</size>\(piece)", "the size is 0 bytes, expected 5; \(part)"),
                ("none", piece, nil),
            ] {
                let head = "<metalink xmlns='urn:ietf:params:xml:ns:metalink'>"
                try write(["M": "\(head)<file name='\(name)'>\(contents)</file></metalink>"], in: folder)
                let result = try await ToolProcess.run("verify", "--metalink", "M", in: folder)
                #expect(result.status == (problem == nil ? 0 : 6))
                #expect(result.errors == (problem.map { "headrace: \(name): \($0)\n" } ?? ""))
            }
        }
    }
}
