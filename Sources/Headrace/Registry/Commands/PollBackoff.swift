/// The delay between two polls for the commands of other processes.
///
/// A pure value: the delay is half a second at first, doubles with each failed poll up to ``maximum``, and is reset by
/// a successful poll.
struct PollBackoff: Sendable {
    static let interval = Duration.milliseconds(500)
    static let maximum = Duration.seconds(30)

    private(set) var delay = interval

    var isFailing: Bool { delay > Self.interval }

    mutating func succeeded() {
        delay = Self.interval
    }

    mutating func failed() {
        delay = min(delay * 2, Self.maximum)
    }
}
