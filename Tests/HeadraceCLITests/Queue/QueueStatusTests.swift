import Headrace
import Testing

@testable import HeadraceCLI

@Suite(.timeLimit(.minutes(4)))
struct QueueStatusTests {
    @Test
    func `the status shows the process and the number of downloads by state`() {
        let status = QueueStatus(processID: 7, counts: [.waiting: 2, .failed: 1], log: "/l\n")
        #expect(status.lines == ["Process 7 is running the queue.", "2 waiting, 1 failed", "Log: /l\u{FFFD}"])
        let empty = QueueStatus(processID: nil, counts: [:], log: nil)
        #expect(empty.lines == ["No process is running the queue.", "The queue is empty."])
    }

    @Test
    func `the JSON status has a number for each state`() {
        #expect(
            QueueStatus(processID: 7, counts: [.waiting: 2], log: "/l").json
                == #"{"processID":7,"log":"/l","waiting":2,"running":0,"paused":0,"finished":0,"failed":0,"cancelled":0}"#
        )
        #expect(QueueStatus(processID: nil, counts: [:], log: nil).json.hasPrefix(#"{"processID":null,"log":null,"#))
    }
}
