import HeadracePlatform
import HeadraceTestSupport
import Testing

#if os(Linux) && !URLSession
/// Checks that the tool under test is from the same build as the tests.
@Suite(.timeLimit(.minutes(4)))
struct ToolBuildTests {
    @Test func `the tool does not link FoundationNetworking`() async throws {
        try await withTemporaryDirectory { folder in
            let files = ["in", "out", "errors"].map { folder.appending(path: $0).path(percentEncoded: false) }
            try Data().write(to: folder.appending(path: "in"))
            var search = try ChildProcess(
                ["/bin/sh", "-c", "grep -q libFoundationNetworking \"$0\"", ToolProcess.toolPath],
                environment: ["PATH=/usr/bin:/bin"],
                streams: files
            )
            let end = try await search.waitForEnd {}
            #expect(
                end == .exit(status: 1),
                """
                \(ToolProcess.toolPath) is of a build with the trait URLSession, which `swift package dump-symbol-graph` leaves, \
                as it enables all traits. `swift build --build-tests` builds it anew.
                """
            )
        }
    }
}
#endif
