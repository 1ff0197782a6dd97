#if os(Linux)
import Foundation
import Headrace
import HeadraceTestSupport
import Testing

/// The built tool.
extension InteropTests {
    /// The end of a run of the tool, and its output.
    private struct ToolRun {
        let status: Int?
        let output: URL
        let errors: String
    }

    /// Runs the tool, which is beside the test bundle, in a folder to its end.
    private func runTool(_ arguments: [String], in folder: URL) async throws -> ToolRun {
        let bundle = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let tool = URL(filePath: bundle).deletingLastPathComponent().appending(path: "headrace").path
        let (output, errors) = (folder.appending(path: ".output"), folder.appending(path: ".errors"))
        var process = try ChildProcess(
            ["/bin/sh", "-c", "cd \"$0\" && exec \"$@\"", folder.path, tool] + arguments,
            environment: ["HOME=\(folder.path)", "TMPDIR=\(folder.path)", "PATH=/usr/bin:/bin"],
            streams: ["/dev/null", output.path, errors.path]
        )
        let end = try await process.waitForEnd()
        let status: Int? = if case .exit(let status) = end { status } else { nil }
        return ToolRun(status: status, output: output, errors: try String(contentsOf: errors, encoding: .utf8))
    }

    @Test(arguments: WebServer.Wire.allCases)
    func `the tool writes a file to standard output, and then reports a wrong checksum`(
        _ wire: WebServer.Wire
    ) async throws {
        let server = try ServersTrait.server(.nginx)
        let url = try server.url("file.bin", wire).absoluteString
        for (other, status) in [("file.bin", 0), ("page.html", 6)] {
            let checksum = try await Checksum.compute(.sha256, ofFileAt: server.folder.appending(path: "site/\(other)"))
            let words = ["get", "-o", "-", "-x", "8", "--checksum", "sha256=\(checksum.hexadecimal)"]
            // Slow enough for the first bytes to be written before the file is found to be wrong.
            let options = status == 0 ? [] : ["--limit-rate", "8M"]
            try await withTemporaryDirectory { folder in
                let run = try await runTool(words + options + ["--cacert", server.authority.path, url], in: folder)
                #expect(run.status == status, "\(run.errors)")
                let size = try #require(FileProbe.size(of: run.output))
                #expect(size > 0 && (status != 0 || size == Self.file.count))
                #expect(Self.file.slice(0..<size).difference(fromFileAt: run.output) == nil)
            }
        }
    }

    @Test(arguments: [("user:secret", 0), ("user:wrong", 4)])
    func `the tool logs in to Apache by Digest`(_ login: String, _ status: Int) async throws {
        let server = try ServersTrait.server(.apache2)
        let url = try server.url("digest/file.bin", .http1).absoluteString
        try await withTemporaryDirectory { folder in
            let run = try await runTool(["get", "-u", login, url], in: folder)
            #expect(run.status == status, "\(run.errors)")
            let isSaved = Self.file.difference(fromFileAt: folder.appending(path: "file.bin")) == nil
            #expect(isSaved == (status == 0))
        }
    }

    @Test func `the tool requests a page compressed and saves it as stored`() async throws {
        let server = try ServersTrait.server(.nginx)
        let url = try server.url("page.html", .http2).absoluteString
        try await withTemporaryDirectory { folder in
            let words = ["get", "--json", "--compressed", "--cacert", server.authority.path, url]
            let run = try await runTool(words, in: folder)
            #expect(run.status == 0, "\(run.errors)")
            #expect(RunningServer.page.difference(fromFileAt: folder.appending(path: "page.html")) == nil)
            let lines = try String(contentsOf: run.output, encoding: .utf8)
            let fetched = try #require(lines.firstMatch(of: /"bytesFetched":(\d+)/)).1
            #expect(try #require(Int64(fetched)) < RunningServer.page.count / 2)
        }
    }

    @Test func `the tool runs a queue, and a command after each file`() async throws {
        let server = try ServersTrait.server(.caddy)
        let url = try server.url("file.bin", .http2).absoluteString
        try await withTemporaryDirectory { folder in
            let add = try await runTool(["queue", "add", "--registry", "queue", "-d", "files", url], in: folder)
            #expect(add.status == 0, "\(add.errors)")
            let hook = "/bin/ln -s \(folder.path)/files/file.bin \(folder.path)/finished"
            let words = ["queue", "run", "--registry", "queue", "--cacert", server.authority.path, "--on-finish", hook]
            let run = try await runTool(words, in: folder)
            #expect(run.status == 0, "\(run.errors)")
            #expect(Self.file.difference(fromFileAt: folder.appending(path: "finished")) == nil)
        }
    }
}
#endif
