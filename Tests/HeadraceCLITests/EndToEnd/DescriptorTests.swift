import HeadracePlatform
import HeadraceTestSupport
import Testing

/// Runs the built tool with few descriptors: Dispatch traps if it cannot open any.
@Suite(.timeLimit(.minutes(4)))
struct DescriptorTests {
    private let body = Response.Body.pattern(size: 3_000_000)

    @Test(arguments: [4, 6, 8, 12, 16, 20, 22, 23, 24, 25, 26, 28, 32, 36, 40, 48, 64])
    func `with few descriptors all files are downloaded, or the error names the limit`(_ limit: Int) async throws {
        try await expectNoCrash(limit, mustSucceed: limit >= 28, "-j", "24")
    }

    @Test(arguments: [24, 32, 48])
    func `additional connections stay within the limit`(_ limit: Int) async throws {
        try await expectNoCrash(limit, mustSucceed: limit >= 28, "-j", "24", "-x", "16")
    }

    @Test(arguments: [24, 30, 32, 40])
    func `descriptors that are already open count against the limit`(_ limit: Int) async throws {
        let opened = (3...9).map { "\($0)</dev/null" }.joined(separator: " ")
        try await expectNoCrash(limit, after: "exec \(opened)", mustSucceed: limit >= 36, "-j", "24")
    }

    /// Runs the tool with a limit that excludes descriptors inherited from the test process.
    private func expectNoCrash(
        _ limit: Int,
        after preparation: String = ":",
        mustSucceed: Bool,
        _ options: String...
    ) async throws {
        let names = (0..<12).map { "\($0).bin" }
        try await withFaultServer(.ok(body)) { server in
            try await withTemporaryDirectory { folder in
                let urls = names.map { server.url("/\($0)").absoluteString }
                // The queue also keeps its folder open.
                let limiting = "ulimit -n $((\(limit) + $(ls /dev/fd | wc -l) - 4)); \(preparation)"
                var tool = try ToolProcess(["get", "-q"] + options + urls, in: folder, after: limiting)
                let result = try await tool.result()
                let status = try #require(result.status, "\(result.errors)")
                #expect(status == 0 || !mustSucceed, "\(result.errors)")
                guard status == 0 else {
                    #expect(status == 5)
                    #expect(result.errors.contains("Allow more open files (ulimit -n)"), "\(result.errors)")
                    return
                }
                for name in names { #expect(body.difference(fromFileAt: folder.appending(path: name)) == nil) }
            }
        }
    }
}
