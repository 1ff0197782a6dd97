import Dispatch
import Headrace
import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import HeadraceCLI

@Suite(.timeLimit(.minutes(4)))
struct ProcessesTests {
    @Test func `a link command that hangs is ended with its child processes when its download stops`() async throws {
        try await withTemporaryDirectory { folder in
            let path = folder.appending(path: "started").path(percentEncoded: false)
            try #require(mkfifo(path, 0o600) == 0)
            let ending = Processes.Ending()
            let words = ["/bin/sh", "-c", "echo > '\(path)'; sleep 600; echo done"]
            async let result = DispatchQueue(label: "command").run {
                Result { try Processes.output(of: words, [], until: ending) }
            }
            // Returns once the command has written to the pipe.
            _ = try await DispatchQueue(label: "started").run { try? Files.read(path) }
            ending.end()
            let (status, output) = try await result.get()
            #expect(status == 128 + SIGTERM && output.isEmpty)
            // Its id may be another process's now.
            ending.end()
        }
    }

    @Test func `a command whose download has stopped is not started`() throws {
        let ending = Processes.Ending()
        ending.end()
        #expect(throws: SystemError(errno: ECANCELED)) {
            try Processes.output(of: ["/bin/echo"], [], until: ending)
        }
    }
}
