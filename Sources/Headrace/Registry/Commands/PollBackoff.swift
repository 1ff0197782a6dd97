/// The delay between two polls for the commands of other processes.
///
/// A pure value: half a second, doubled by each failed poll up to a maximum, and reset by a successful one.
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
