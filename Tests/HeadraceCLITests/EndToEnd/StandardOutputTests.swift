import Dispatch
import Headrace
import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import HeadraceCLI

/// Downloads to standard output, with the built tool.
@Suite(.timeLimit(.minutes(4)))
struct StandardOutputTests {
    private static let file = Resource(size: 12_000_000)
    private static let small = Resource(size: 300_000)

    /// Runs the body with a folder for files and one for temporary files, which must be empty at the end.
    private func withFolders(_ body: (URL, String) async throws -> Void) async throws {
        try await withTemporaryDirectory { folder in
            let temporary = folder.appending(path: "temporary")
            try FileManager.default.createDirectory(at: temporary, withIntermediateDirectories: false)
            let path = temporary.path(percentEncoded: false)
            try await body(folder, "TMPDIR=\(path)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: path) == [])
        }
    }

    private func names(in folder: URL) throws -> [String] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false))
        return names.filter { !$0.hasPrefix(".") && $0 != "temporary" }
    }

    @Test(arguments: [["-o", "-"], ["-q", "-o", "-"], ["--tee"], ["--tee", "-o", "x", "-x", "1"]])
    func `standard output gets the bytes of a file in order, whatever is cut`(_ options: [String]) async throws {
        let response = Response.answering { request in
            request.attempt < 6 ? .file(Self.file).truncated(after: 1_500_000) : .file(Self.file)
        }
        try await withFaultServer(response) { server in
            try await withFolders { folder, variable in
                let words = ["get", "-x", "8"] + options + [server.url("/a").absoluteString]
                var process = try ToolProcess(words, in: folder, environment: [variable])
                let end = try await process.result(readsOutput: false)
                #expect(end.status == 0, "\(end.errors)")
                #expect(Self.file.body.difference(fromFileAt: folder.appending(path: ".stdout")) == nil)
                let saved = options.contains("--tee") ? [options.contains("x") ? "x" : "a"] : []
                #expect(try names(in: folder) == saved)
                for name in saved {
                    #expect(Self.file.body.difference(fromFileAt: folder.appending(path: name)) == nil)
                }
                #expect(server.requests.count > 6)
            }
        }
    }

    @Test func `a wrong checksum is reported after the bytes`() async throws {
        // Slow enough for the first bytes to be read before the file is found to be wrong.
        try await withFaultServer(.file(Self.small).limited(bytesPerSecond: 300_000)) { server in
            try await withFolders { folder, variable in
                let checksum = String(repeating: "0", count: 64)
                let words = ["get", "-q", "-o", "-", "--checksum", checksum, server.url("/a").absoluteString]
                var process = try ToolProcess(words, in: folder, environment: [variable])
                let end = try await process.result(readsOutput: false)
                #expect(end.status == 6)
                #expect(end.errors.contains("of the file were already written to standard output"), "\(end.errors)")
                #expect(end.errors.contains("sha256 checksum"))
                #expect(try names(in: folder) == [])
            }
        }
    }

    @Test func `wrong bytes are reported although a mirror delivers the right ones`() async throws {
        let wrong = Response.file(Resource(size: 300_000, seed: 2)).limited(bytesPerSecond: 600_000)
        try await withFaultServer(.routes(["/a": wrong, "/b": .file(Self.small)])) { server in
            try await withFolders { folder, variable in
                let right = folder.appending(path: ".right")
                try Data(Pattern(seed: 1).bytes(in: 0..<300_000)).write(to: right)
                let checksum = try await Checksum.compute(.sha256, ofFileAt: right)
                let (url, mirror) = (server.url("/a").absoluteString, server.url("/b").absoluteString)
                let options = ["--checksum", "sha256=\(checksum.hexadecimal)", "--mirror", mirror]
                var process = try ToolProcess(
                    ["get", "-q", "-o", "-"] + options + [url],
                    in: folder,
                    environment: [variable]
                )
                let end = try await process.result(readsOutput: false)
                #expect(end.status == 6)
                #expect(end.errors.contains("the download had to start over after "), "\(end.errors)")
                let output = try FileProbe.bytes(of: folder.appending(path: ".stdout"))
                #expect(!output.isEmpty && output == Pattern(seed: 2).bytes(in: 0..<Int64(output.count)))
            }
        }
    }

    @Test(arguments: ["-o-", "--tee"])
    func `standard output never gets bytes of two versions`(_ option: String) async throws {
        let other = Resource(size: 300_000, seed: 2, etag: "\"v2\"")
        let responses = [Response.file(Self.small).truncated(after: 100_000)]
        try await withFaultServer(.sequence(responses, then: .file(other))) { server in
            try await withFolders { folder, variable in
                let words = ["get", option, server.url("/a").absoluteString]
                var process = try ToolProcess(words, in: folder, environment: [variable])
                let end = try await process.result(readsOutput: false)
                #expect(end.status == 4)
                #expect(end.errors.contains("\nheadrace: the download had to start over after "), "\(end.errors)")
                let output = try FileProbe.bytes(of: folder.appending(path: ".stdout"))
                #expect(!output.isEmpty)
                #expect(output == Pattern(seed: 1).bytes(in: 0..<Int64(output.count)))
            }
        }
    }

    @Test func `a full disk for standard output ends the download`() async throws {
        try await withFaultServer(.file(Self.small)) { server in
            try await withFolders { folder, variable in
                let words = ["get", "-o", "-", server.url("/a").absoluteString]
                var process = try ToolProcess(words, in: folder, output: "/dev/full", environment: [variable])
                let end = try await process.result(readsOutput: false)
                #expect(end.status == 5)
                #expect(end.errors.hasSuffix("headrace: cannot write to standard output: no space left on device\n"))
            }
        }
    }

    @Test func `a closed pipe ends the download with the status of SIGPIPE`() async throws {
        try await withFaultServer(.file(Self.file).stalled(after: 11_000_000)) { server in
            try await withFolders { folder, variable in
                let path = folder.path(percentEncoded: false)
                let pipe = "cd '\(path)'; mkfifo .pipe; head -c 9 .pipe > .head & exec > .pipe"
                let words = ["get", "-x", "1", "-o", "-", server.url("/a").absoluteString]
                var process = try ToolProcess(words, in: folder, environment: [variable], after: pipe)
                let end = try await process.result(readsOutput: false)
                #expect(end.status == 141)
                #expect(end.errorLines.allSatisfy { $0.contains("started") }, "\(end.errors)")
                #expect(try names(in: folder) == [])
            }
        }
    }

    @Test func `JSON lines for a closed pipe end with the status of SIGPIPE`() async throws {
        try await withFaultServer(.file(Resource(size: 1000))) { server in
            try await withFolders { folder, variable in
                let path = folder.path(percentEncoded: false)
                let pipe = "cd '\(path)'; mkfifo .pipe; : < .pipe & exec > .pipe; wait"
                let words = ["get", "--json", server.url("/a").absoluteString]
                var process = try ToolProcess(words, in: folder, environment: [variable], after: pipe)
                let end = try await process.result(readsOutput: false)
                #expect(end.status == 141 && end.errors == "", "\(end.errors)")
                #expect(try names(in: folder) == ["a"])
            }
        }
    }

    @Test func `standard output gets a Metalink document and not its files`() async throws {
        let document = """
            <metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="x"><url>http://127.0.0.1:1/x</url></file></metalink>
            """
        try await withFaultServer(.ok(.bytes(Array(document.utf8)))) { server in
            try await withFolders { folder, variable in
                try Data("follow-metalink\n".utf8).write(to: folder.appending(path: "config"))
                let words = ["get", "--config", "config", "-q", "-o", "-", server.url("/a.meta4").absoluteString]
                var process = try ToolProcess(words, in: folder, environment: [variable])
                let end = try await process.result()
                #expect(end.status == 0 && end.output == document, "\(end.errors)")
            }
        }
    }

    @Test func `a signal ends the tool while it waits for a list from a pipe`() async throws {
        try await withFolders { folder, variable in
            let pipe = folder.appending(path: ".pipe").path(percentEncoded: false)
            try #require(mkfifo(pipe, 0o600) == 0)
            var process = try ToolProcess(["get", "-o", "-", "-i", pipe], in: folder, environment: [variable])
            // Returns once the tool has opened the pipe.
            let writer = try await DispatchQueue(label: "writer").run { open(pipe, O_WRONLY) }
            process.send(SIGTERM)
            close(writer)
            #expect(try await process.result().status == nil)
        }
    }

    @Test func `a signal ends a download whose pipe is full`() async throws {
        try await withFaultServer(.file(Self.file)) { server in
            try await withFolders { folder, variable in
                let pipe = folder.appending(path: ".pipe").path(percentEncoded: false)
                try #require(mkfifo(pipe, 0o600) == 0)
                let reader = open(pipe, O_RDONLY | O_NONBLOCK)
                defer { close(reader) }
                let words = ["get", "-o", "-", server.url("/a").absoluteString]
                var process = try ToolProcess(words, in: folder, output: pipe, environment: [variable])
                var readable = pollfd(fd: reader, events: Int16(POLLIN), revents: 0)
                while poll(&readable, 1, 0) == 0 { try await Task.sleep(for: .milliseconds(5)) }
                process.send(SIGINT)
                let end = try await process.result(readsOutput: false)
                #expect(end.status == 130)
                #expect(end.errorLines.last == "headrace: interrupted", "\(end.errors)")
            }
        }
    }
}
