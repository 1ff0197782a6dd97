/// How long to wait between two looks for the commands of other processes.
///
/// Pure: half a second, and from each failed look to the next twice as long as before, up to a bound, until one succeeds.
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
