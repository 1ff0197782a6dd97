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

    @Test
    func `downloads that a command does not change have a note`() {
        #expect(passedOver(.pause([])) == [.paused, .finished, .failed, .cancelled])
        #expect(passedOver(.resume([])) == [.running, .finished])
        #expect(passedOver(.retry([])) == [.waiting, .running, .paused, .finished, .cancelled])
        #expect(passedOver(.cancel([])) == [.finished, .cancelled])
        #expect(passedOver(.remove([], deletingFiles: false)) == [])
        #expect(QueueCommandNote(.resume([]), to: .cancelled)?.isDone == true)
        #expect(QueueCommandNote(.resume([]), to: .finished(Self.gone))?.isDone == true)
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
        #expect(QueueCommandNote.lines(on: .resume(ids), to: ids, of: list, areNamed: true) == [revived, running])
        #expect(QueueCommandNote.lines(on: .resume(ids), to: ids, of: list, areNamed: false) == [revived])
        #expect(QueueCommandNote.lines(on: .resume(ids), to: [ids[2]], of: list, areNamed: false) == [running])
        #expect(QueueCommandNote.lines(on: .pause(ids), to: [], of: list, areNamed: false).count == 1)
    }

    @Test
    func `a command is summarized in one line`() {
        let list = [DownloadSnapshot.sample(1, .running, name: "a"), .sample(2, .paused, name: "b"), .sample(3)]
            .numbered(4, 2, 3)
        let ids = list.map(\.id)
        #expect(QueueCommandNote.summary(of: .pause(ids), on: ids, of: list) == "headrace: paused 2 downloads")
        #expect(QueueCommandNote.summary(of: .resume(ids), on: [ids[1]], of: list) == "headrace: resumed b (%2)")
        #expect(QueueCommandNote.summary(of: .pause(ids), on: [ids[1]], of: list) == nil)
        #expect(QueueCommandNote.summary(of: .cancel(ids), on: [ids[0]], of: list) == "headrace: cancelled a (%4)")
        #expect(
            QueueCommandNote.summary(of: .move(ids[1], to: .first), on: [ids[1]], of: list) == "headrace: moved b (%2)"
        )
        #expect(
            QueueCommandNote.summary(of: .remove(ids, deletingFiles: true), on: ids, of: list)
                == "headrace: removed 3 downloads"
        )
    }

    @Test
    func `an ended download whose file belongs to another download is not restarted`() {
        let failed = DownloadState.failed(DownloadError(.httpStatus, "No."))
        let list = [DownloadSnapshot.sample(1, failed), .sample(2, .paused), .sample(3, failed, name: "b")]
            .numbered(2, 1, 3)
        let ids = list.map(\.id)
        let line = "headrace: a.bin (%2): %1 downloads the same file; use that one instead"
        #expect(QueueCommandNote.lines(on: .retry(ids), to: [ids[0], ids[2]], of: list, areNamed: true) == [line])
        #expect(QueueCommandNote.lines(on: .resume(ids), to: ids, of: list, areNamed: true) == [line])
        #expect(QueueCommandNote.lines(on: .cancel(ids), to: [ids[0]], of: list, areNamed: true) == [])
        // Regression: the summary counted it as changed.
        let summary = QueueCommandNote.summary(of: .retry(ids), on: [ids[0], ids[2]], of: list)
        #expect(summary == "headrace: retried b (%3)")
        #expect(QueueCommandNote.summary(of: .retry(ids), on: [ids[0]], of: list) == nil)
    }
}
