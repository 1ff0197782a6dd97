/// The measurements of one source of the file: the server of the request, or a mirror.
struct SourceStats: Sendable {
    /// The index of the first source with the same host, with which it shares the connection limit.
    let host: Int
    /// The number of connections allowed to its host, limited by the host and by other downloads.
    var allowance: Int
    /// The time from a request to the first byte of its body.
    private(set) var latency: Duration?
    /// The final speeds of the last segments.
    private(set) var rates: [Double] = []
    /// Consecutive failures.
    private var failures = 0
    private var lastFailure: Duration?
    /// The time from which another connection may be opened.
    private var notBefore: Duration?
    /// Consecutive unusable responses.
    private var unusableResponses = 0
    /// Consecutive failures of a connection that was the only one.
    private var soleFailures = 0
    /// Whether any connection to it has delivered enough bytes to count.
    private(set) var hasDelivered = false
    /// Whether its speed was measured for long enough to be compared, and its last connection did not fail.
    private(set) var isTried = false
    /// Whether its last connection was closed because other sources are faster.
    private(set) var isSuspended = false

    private static let maxRates = 4
    private static let maxUnusableResponses = 2
    /// The consecutive rejections (429, 503) after which a source that has delivered nothing is abandoned.
    private static let maxRefusals = 2
    private static let maxSoleFailures = 2
    private static let firstDelay = Duration.milliseconds(250)
    private static let maxDelay = Duration.seconds(30)

    init(allowance: Int, host: Int) {
        self.allowance = allowance
        self.host = host
    }

    /// Records that it has been compared with the other sources, or needs no comparison.
    mutating func tried() {
        isTried = true
    }

    /// Records that its connection was closed because other sources are faster.
    mutating func suspend() {
        isSuspended = true
    }

    /// Whether no further connection to it is opened.
    var isRetired: Bool { unusableResponses >= Self.maxUnusableResponses }

    /// Whether another connection may be opened besides the open ones.
    ///
    /// A source that refuses further connections may accept one again after all others are closed.
    func mayOpen(beside open: Int, at now: Duration) -> Bool {
        !isRetired && (now >= notBefore ?? now || open == 0 && soleFailures < Self.maxSoleFailures)
    }

    mutating func retire() {
        unusableResponses = Self.maxUnusableResponses
    }

    /// Records a new connection; after a failure, it remains the only one until it has delivered bytes.
    mutating func opened(at now: Duration) {
        if failures > 0 { notBefore = now + delay }
    }

    mutating func headReceived(after latency: Duration) {
        self.latency = self.latency.map { ($0 * 3 + latency) / 4 } ?? latency
    }

    /// Records that a connection delivered enough bytes to count.
    mutating func progressed() {
        hasDelivered = true
        failures = 0
        soleFailures = 0
        if !isRetired { unusableResponses = 0 }
        notBefore = nil
    }

    mutating func ended(with rate: Double) {
        if failures == 0 { isTried = true }
        rates.append(rate)
        if rates.count > Self.maxRates { rates.removeFirst() }
    }

    /// Records a lost connection that delivered too little.
    ///
    /// The first in a row may be replaced at once, and connections that break together count as one. An unusable response may
    /// come from a single node, but only once. A source that fails before it has delivered anything is abandoned, unless it
    /// only asks for fewer requests.
    mutating func failed(
        _ failure: SegmentPlanner.Failure,
        openedAt opened: Duration,
        isAlone: Bool,
        at now: Duration
    ) {
        if failure == .unusable { unusableResponses += 1 }
        if isAlone {
            soleFailures += 1
            isTried = false
        }
        if !hasDelivered, failure != .refused || failures + 1 >= Self.maxRefusals { retire() }
        guard opened >= lastFailure ?? opened else { return }
        failures += 1
        lastFailure = now
        notBefore = failures == 1 ? now : now + delay
    }

    private var delay: Duration { min(Self.firstDelay * (1 << min(failures - 1, 16)), Self.maxDelay) }
}
