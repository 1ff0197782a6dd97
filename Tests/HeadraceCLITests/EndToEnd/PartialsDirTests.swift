import HeadracePlatform
import HeadraceTestSupport
import Testing

/// Runs the built tool with a directory for partial files.
@Suite(.timeLimit(.minutes(4)))
struct PartialsDirTests {
    private let file = Resource(size: 300_000)
    private var cut: Response { .file(file).truncated(after: 100_000) }

    private func names(in folder: URL) throws -> [String] {
        try FileProbe.names(in: folder).filter { !$0.hasPrefix(".std") }
    }

    @Test func `partial files are in the directory of --partials-dir`() async throws {
        try await withFaultServer(.sequence([cut], then: .file(file))) { server in
            try await withTemporaryDirectory { folder in
                let words = [
                    "get", "--retries", "0", "--partials-dir", "a/b", "-o", "x", server.url("/x").absoluteString,
                ]
                var process = try ToolProcess(words, in: folder)
                let first = try await process.result()
                #expect(first.status != 0)
                let partial = try #require(try names(in: folder.appending(path: "a/b")).first)
                #expect(partial.hasPrefix("x.") && partial.hasSuffix(".part"))
                process = try ToolProcess(words, in: folder)
                let second = try await process.result()
                #expect(second.status == 0, "\(second.errors)")
                #expect(server.requests.last?["Range"] == "bytes=100000-")
                #expect(file.body.difference(fromFileAt: folder.appending(path: "x")) == nil)
                #expect(try names(in: folder) == ["a", "x"])
                #expect(try names(in: folder.appending(path: "a/b")) == [])
            }
        }
    }

    @Test func `the commands for a queue find the partial files of queue run --partials-dir`() async throws {
        try await withFaultServer(cut) { server in
            try await withQueueFolder { folder in
                let partials = folder.url.appending(path: "partials")
                let id = try await folder.add(server.url("/x"))[0]
                var run = try folder.run("--retries", "0", "--partials-dir", partials.path)
                _ = try await run.result()
                #expect(try names(in: partials).count == 2)
                #expect(try names(in: folder.files) == [])
                let list = try await folder.queue("list", "--json")
                #expect(list.output.contains(#""bytesReceived":100000"#), "\(list.output)")
                let kept = try await folder.queue("remove", id)
                #expect(kept.errors.contains("kept \(partials.path)/x."), "\(kept.errors)")
                let again = try await folder.add(server.url("/x"))[0]
                run = try folder.run("--retries", "0", "--partials-dir", partials.path)
                _ = try await run.result()
                #expect(try await folder.queue("remove", "--files", again).status == 0)
                #expect(try names(in: partials) == [])
            }
        }
    }
}
