import HeadracePlatform
import HeadraceTestSupport
import Testing

/// Runs the built tool with existing files, and checks file times.
@Suite(.timeLimit(.minutes(4)))
struct RefetchTests {
    private let old = Response.file(Resource(size: 300_000, seed: 1))
    private let new = Resource(size: 300_000, seed: 2, etag: "\"v2\"")

    private func time(of file: URL) throws -> Date? {
        try FileManager.default.attributesOfItem(atPath: file.path)[.modificationDate] as? Date
    }

    @Test
    func `a file is downloaded again only if it has changed`() async throws {
        try await withFaultServer(.answering { $0.attempt < 2 ? old : .file(new) }) { server in
            try await withTemporaryDirectory { folder in
                let file = folder.appending(path: "a.bin")
                let line = ["get", "--if-changed", server.url("/a.bin").absoluteString]
                var lines: [String] = []
                for _ in 0..<3 {
                    var process = try ToolProcess(line, in: folder)
                    let result = try await process.result()
                    #expect(result.status == 0, "\(result.errors)")
                    lines.append(result.errorLines.last ?? "")
                }
                let conditions = server.requests.map { $0["If-None-Match"] }
                // Without extended attributes, each run downloads the file.
                if conditions.contains("\"v1\"") {
                    #expect(conditions == [nil, "\"v1\"", "\"v1\""])
                    #expect(lines[1] == "a.bin: already downloaded, not changed on the server")
                    #expect(server.requests[1].bodyBytesSent == 0)
                }
                #expect(lines[2].hasPrefix("a.bin: finished, 292 KiB in "))
                #expect(new.body.difference(fromFileAt: file) == nil)
                let names = try FileProbe.names(in: folder).filter { !$0.hasPrefix(".std") }
                #expect(names == ["a.bin"])
            }
        }
    }

    @Test
    func `the queue saves --if-changed`() async throws {
        try await withFaultServer(old) { server in
            try await withQueueFolder { folder in
                for _ in 0..<2 {
                    _ = try await folder.add([server.url("/a.bin")], options: ["--if-changed"])
                    var run = try folder.run()
                    let result = try await run.result()
                    #expect(result.status == 0, "\(result.errors)")
                }
                #expect(try await folder.states() == ["finished", "finished"])
                #expect(try FileProbe.names(in: folder.files) == ["a.bin"])
            }
        }
    }

    @Test(arguments: [([], true), (["--no-remote-time"], false)] as [([String], Bool)])
    func `a file has the server's time unless --no-remote-time is given`(
        _ options: [String],
        isRemote: Bool
    ) async throws {
        try await withFaultServer(old) { server in
            try await withTemporaryDirectory { folder in
                var process = try ToolProcess(["get"] + options + [server.url("/a.bin").absoluteString], in: folder)
                #expect(try await process.result().status == 0)
                let time = try #require(try time(of: folder.appending(path: "a.bin")))
                #expect((time.timeIntervalSince1970 == 1_735_689_600) == isRemote)
            }
        }
    }
}
