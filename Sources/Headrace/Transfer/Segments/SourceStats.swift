/// What is known of one of the places that a file is fetched from: the server of the request, or a mirror.
struct SourceStats: Sendable {
    /// The first source of the same host, with which it shares the connections that the host allows.
    let host: Int
    /// How many connections may be open to its host, limited by the host and by other downloads.
    var allowance: Int
    /// From a request to the first byte of its body.
    private(set) var latency: Duration?
    /// The speeds that the last segments ended with.
    private(set) var rates: [Double] = []
    /// Failures in a row.
    private var failures = 0
    private var lastFailure: Duration?
    /// When the next connection may be opened.
    private var notBefore: Duration?
    /// Answers of no use in a row.
    private var unusableResponses = 0
    /// Failures in a row of a connection that was the only one.
    private var lonelyFailures = 0
    /// Whether any connection to it has delivered enough bytes to count.
    private(set) var hasDelivered = false
    /// Whether its speed was measured for long enough to be compared, and its last connection did not fail.
    private(set) var isTried = false
    /// Whether its last connection was closed because other sources are faster.
    private(set) var isSuspended = false

    private static let ratesKept = 4
    private static let maxUnusableResponses = 2
    /// The refusals in a row (429, 503) after which a source that has delivered nothing is not asked again.
    private static let maxRefusals = 2
    private static let maxLonelyFailures = 2
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

    /// Whether one more connection may be opened beside those that are.
    ///
    /// A source that gives no further ones may give one to whom it has given all others up.
    func mayOpen(beside open: Int, at now: Duration) -> Bool {
        !isRetired && (now >= notBefore ?? now || open == 0 && lonelyFailures < Self.maxLonelyFailures)
    }

    mutating func retire() {
        unusableResponses = Self.maxUnusableResponses
    }

    /// A connection is opened; after a failure it is the only one until it has brought bytes.
    mutating func opened(at now: Duration) {
        if failures > 0 { notBefore = now + delay }
    }

    mutating func headReceived(after latency: Duration) {
        self.latency = self.latency.map { ($0 * 3 + latency) / 4 } ?? latency
    }

    /// A connection brought enough bytes to count.
    mutating func progressed() {
        hasDelivered = true
        failures = 0
        lonelyFailures = 0
        if !isRetired { unusableResponses = 0 }
        notBefore = nil
    }

    mutating func ended(with rate: Double) {
        if failures == 0 { isTried = true }
        rates.append(rate)
        if rates.count > Self.ratesKept { rates.removeFirst() }
    }

    /// A connection is lost that brought too little.
    ///
    /// The first one in a row may be replaced at once, and those that break together are one. An answer of no use may be
    /// that of a single node, but only once. A source that fails before it has delivered anything gets no second chance,
    /// unless it only asks for fewer requests.
    mutating func failed(
        _ failure: SegmentPlanner.Failure,
        openedAt opened: Duration,
        isAlone: Bool,
        at now: Duration
    ) {
        if failure == .unusable { unusableResponses += 1 }
        if isAlone {
            lonelyFailures += 1
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
