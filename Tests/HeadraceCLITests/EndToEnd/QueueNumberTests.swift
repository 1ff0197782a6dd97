import HeadracePlatform
import HeadraceTestSupport
import Testing

/// The download numbers of the built tool.
@Suite(.timeLimit(.minutes(4)))
struct QueueNumberTests {
    private func urls(_ names: String...) throws -> [URL] {
        try names.map { try #require(URL(string: "http://127.0.0.1:1/\($0)")) }
    }

    /// The file names in the order of the queue, with the download numbers.
    private func numbers(_ folder: QueueFolder) async throws -> [String] {
        try await folder.list().map { "\($0.url.suffix(1))\($0.number)" }
    }

    /// Regression: a number was a position, so a second command with `%3` could mean another download.
    @Test func `a number means the same download after a move`() async throws {
        try await withQueueFolder { folder in
            let ids = try await folder.add(urls("a", "b", "c", "d"))
            #expect(try await folder.queue("move", "%3", "first").errorLines.first == "headrace: moved c (%3)")
            #expect(try await folder.queue("pause", "%3").errorLines.first == "headrace: paused c (%3)")
            #expect(try await folder.states() == ["paused", "waiting", "waiting", "waiting"])
            let table = try await folder.queue("list").outputLines
            #expect(table.dropFirst().map { $0.prefix(12) } == [2, 0, 1, 3].map { "%\($0 + 1)  \(ids[$0].prefix(8))" })
            // To the position of another download, and to a position.
            #expect(try await folder.queue("move", "%4", "%3").status == 0)
            #expect(try await numbers(folder) == ["d4", "c3", "a1", "b2"])
            #expect(try await folder.queue("move", "%4", "after", "%1").status == 0)
            #expect(try await folder.queue("move", "%2", "1").status == 0)
            #expect(try await numbers(folder) == ["b2", "c3", "a1", "d4"])
            #expect(try await folder.queue("remove", "%3").errorLines.first == "headrace: removed c (%3)")
            #expect(try await folder.queue("cancel", "%1").errorLines.first == "headrace: cancelled a (%1)")
            let gone = try await folder.queue("pause", "%3")
            #expect(gone.status == 2)
            #expect(
                gone.errorLines
                    == ["headrace: %3: no download in the queue has this number; see headrace queue list"]
            )
            _ = try await folder.add(urls("e"))
            #expect(try await numbers(folder) == ["b2", "a1", "d4", "e5"])
            #expect(try await folder.queue("remove", "all").status == 0)
            _ = try await folder.add(urls("f"))
            #expect(try await numbers(folder) == ["f1"])
        }
    }

    @Test func `a queue of an earlier release gets its positions as permanent numbers`() async throws {
        let journal = """
            headrace-registry 1 e9d3e7cb

            e2d3b384 ["add",["a010908c56ede09a",0,"http://h.example/a","directory","registry:","refetch","unlessCurrent"]]

            33211944 ["add",["60bbd442b3a844d1",4294967296,"http://h.example/b","directory","registry:","refetch",\
            "unlessCurrent"]]

            cc9ae4a0 ["add",["b28b781cdf6f6a02",8589934592,"http://h.example/c","directory","registry:","refetch",\
            "unlessCurrent"]]

            5f58a77c ["move","b28b781cdf6f6a02",-4294967296]

            b3671c25 ["state","60bbd442b3a844d1",["cancelled"]]

            """
        try await withQueueFolder { folder in
            let list = folder.url.appending(path: "list")
            try FileManager.default.createDirectory(at: list, withIntermediateDirectories: false)
            try Data(journal.utf8).write(to: list.appending(path: "registry.journal"))
            for _ in 0..<2 { #expect(try await numbers(folder) == ["c1", "a2", "b3"]) }
            let moved = try await folder.queue("move", "%1", "last")
            #expect(moved.status == 0 && moved.errorLines.first == "headrace: moved c (%1)", "\(moved.errors)")
            #expect(try await numbers(folder) == ["a2", "b3", "c1"])
            _ = try await folder.add(urls("d"))
            #expect(try await numbers(folder) == ["a2", "b3", "c1", "d4"])
            #expect(try FileProbe.names(in: list) == ["registry.journal", "registry.lock"])
        }
    }

    @Test func `the running process assigns numbers that all commands share`() async throws {
        try await withFaultServer(.ok(.pattern(size: 300_000)).stalled(after: 1000)) { server in
            try await withQueueFolder { folder in
                _ = try await folder.add(server.url("/a"), server.url("/b"))
                #expect(try await folder.queue("move", "%2", "first").status == 0)
                var run = try folder.run("--watch", "-j", "1")
                try await server.waitForRequests(count: 1)
                let json = try await folder.queue("add", "--json", server.url("/c").absoluteString)
                #expect(json.outputLines.first?.hasPrefix(#"{"place":3,"number":3,"#) == true, "\(json.output)")
                #expect(try await folder.queue("move", "%3", "first").status == 0)
                #expect(try await numbers(folder) == ["c3", "b2", "a1"])
                #expect(try await folder.queue("pause", "%2").errorLines.first == "headrace: paused b (%2)")
                #expect(try await folder.queue("remove", "%3").errorLines.first == "headrace: removed c (%3)")
                #expect(try await numbers(folder) == ["b2", "a1"])
                run.send(SIGKILL)
                _ = try await run.result()
                #expect(try await numbers(folder) == ["b2", "a1"])
            }
        }
    }
}
