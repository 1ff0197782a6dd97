import Headrace
import HeadracePlatform
import Testing

@testable import HeadraceCLI

@Suite(.timeLimit(.minutes(4)))
struct HooksTests {
    private let id = Download.ID(rawValue: 1)
    private let request = DownloadRequest(makeURL("http://u:hidden@h/x"), to: .file(URL(filePath: "/d/x")))

    private func hooks(_ line: String...) throws -> Hooks { try Hooks(ParsedArguments(line)) }

    private func call(_ hooks: inout Hooks, _ state: DownloadState) -> Hooks.Call? {
        hooks.call(for: id, request, partial: "/none", state)
    }

    @Test func `each end of a download runs its command once, until the download runs again`() throws {
        var hooks = try hooks("--on-finish", "notify  --title done", "--on-fail=log")
        let failed = DownloadState.failed(DownloadError(.httpStatus, "No.", statusCode: 404))
        let finished = DownloadState.finished(URL(filePath: "/d/x"))
        #expect(call(&hooks, .waiting) == nil && call(&hooks, .running) == nil)
        let first = try #require(call(&hooks, failed))
        #expect(first.words == ["log"])
        #expect(
            first.variables == ["HEADRACE_FILE=", "HEADRACE_URL=http://h/x", "HEADRACE_ID=\(id)", "HEADRACE_STATUS=4"]
        )
        #expect(call(&hooks, failed) == nil)
        #expect(call(&hooks, .running) == nil)
        #expect(call(&hooks, failed) == first)
        let second = try #require(call(&hooks, finished))
        #expect(second.words == ["notify", "--title", "done"])
        #expect(second.variables.first == "HEADRACE_FILE=/d/x" && second.variables.last == "HEADRACE_STATUS=0")
        #expect(call(&hooks, finished) == nil && call(&hooks, .cancelled) == nil)
    }

    @Test func `a download that a signal stopped has not failed`() throws {
        var hooks = try hooks("--on-fail", "log")
        #expect(call(&hooks, .failed(DownloadError(.shutDown, "Stopped."))) == nil)
        #expect(try !hooks.isEmpty && self.hooks().isEmpty)
    }

    @Test func `a command without a word is rejected`() {
        #expect(throws: UsageError("--on-fail: the command is empty")) { try self.hooks("--on-fail", " ") }
    }
}
