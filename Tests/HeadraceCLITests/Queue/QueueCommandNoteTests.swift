import Headrace
import HeadracePlatform
import Testing

@testable import HeadraceCLI

@Suite(.timeLimit(.minutes(4)))
struct QueueCommandNoteTests {
    private static let gone = URL(filePath: "/nowhere/\(UUID().uuidString)")
    private static let states: [DownloadState] = [
        .waiting, .running, .paused, .finished(URL(filePath: "/")), .failed(DownloadError(.httpStatus, "No.")),
        .cancelled,
    ]

    private func passedOver(_ command: DownloadRegistry.Command) -> [DownloadState.Kind] {
        Self.states.filter { QueueCommandNote(command, to: $0)?.isDone == false }.map(\.kind)
    }

    private func notes(
        _ command: DownloadRegistry.Command,
        _ ids: [Download.ID],
        in list: [DownloadSnapshot],
        areNamed: Bool
    ) -> [String] {
        QueueCommandReport(command, to: ids, of: list, areNamed: areNamed).notes
    }

    private func summary(
        _ command: DownloadRegistry.Command,
        _ ids: [Download.ID],
        in list: [DownloadSnapshot]
    ) -> String? {
        QueueCommandReport(command, to: ids, of: list, areNamed: true).summary
    }

    @Test
    func `downloads that a command does not change have a note`() {
        #expect(passedOver(.pause([])) == [.paused, .finished, .failed, .cancelled])
        #expect(passedOver(.resume([])) == [.running, .finished])
        #expect(passedOver(.retry([])) == [.waiting, .running, .paused, .finished, .cancelled])
        #expect(passedOver(.cancel([])) == [.finished, .cancelled])
        #expect(passedOver(.remove([], deletingFiles: false)) == [])
        #expect(QueueCommandNote(.resume([]), to: .cancelled)?.isDone == true)
        #expect(QueueCommandNote(.resume([]), to: .finished(Self.gone))?.isDone == true)
        // Whether the file exists is unknown, so that it is not downloaded again.
        let unknown = URL(filePath: "/dev/null/a.bin")
        #expect(QueueCommandNote(.resume([]), to: .finished(unknown))?.isDone == false)
    }

    @Test
    func `equal notes share a line, and unnamed downloads are noted only if changed`() {
        let list = [
            DownloadSnapshot.sample(1, .cancelled, name: "a"), .sample(2, .cancelled, name: "b"),
            .sample(3, .running, name: "c"), .sample(4),
        ].numbered(1, 2, 5, 4)
        let ids = list.map(\.id)
        let revived = "headrace: 2 downloads: was cancelled; will download again from the beginning"
        let running = "headrace: c (%5): running; nothing to resume"
        #expect(notes(.resume(ids), ids, in: list, areNamed: true) == [revived, running])
        #expect(notes(.resume(ids), ids, in: list, areNamed: false) == [revived])
        #expect(notes(.resume(ids), [ids[2]], in: list, areNamed: false) == [running])
        #expect(notes(.pause(ids), [], in: list, areNamed: false).count == 1)
    }

    @Test
    func `a command is summarized in one line`() {
        let list = [DownloadSnapshot.sample(1, .running, name: "a"), .sample(2, .paused, name: "b"), .sample(3)]
            .numbered(4, 2, 3)
        let ids = list.map(\.id)
        #expect(summary(.pause(ids), ids, in: list) == "headrace: paused 2 downloads")
        #expect(summary(.resume(ids), [ids[1]], in: list) == "headrace: resumed b (%2)")
        #expect(summary(.pause(ids), [ids[1]], in: list) == nil)
        #expect(summary(.cancel(ids), [ids[0]], in: list) == "headrace: cancelled a (%4)")
        #expect(summary(.move(ids[1], to: .first), [ids[1]], in: list) == "headrace: moved b (%2)")
        #expect(summary(.remove(ids, deletingFiles: true), ids, in: list) == "headrace: removed 3 downloads")
    }

    @Test
    func `an ended download whose file belongs to another download is not restarted`() {
        let failed = DownloadState.failed(DownloadError(.httpStatus, "No."))
        let list = [DownloadSnapshot.sample(1, failed), .sample(2, .paused), .sample(3, failed, name: "b")]
            .numbered(2, 1, 3)
        let ids = list.map(\.id)
        let line = "headrace: a.bin (%2): %1 downloads the same file; use that one instead"
        #expect(notes(.retry(ids), [ids[0], ids[2]], in: list, areNamed: true) == [line])
        #expect(notes(.resume(ids), ids, in: list, areNamed: true) == [line])
        #expect(notes(.cancel(ids), [ids[0]], in: list, areNamed: true) == [])
        // Regression: the summary counted it as changed.
        #expect(summary(.retry(ids), [ids[0], ids[2]], in: list) == "headrace: retried b (%3)")
        #expect(summary(.retry(ids), [ids[0]], in: list) == nil)
    }
}
