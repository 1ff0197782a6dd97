/// The measurements and failures of one source of the file: the server of the first request, or a mirror.
struct SourceStats: Sendable {
    /// The index of the first source with the same host; sources of one host share its connection limit.
    let host: Int
    /// The number of connections that this download may have to the host.
    var allowance: Int
    /// The moving average of the times from requests on new connections to the first bytes of their responses; `nil`
    /// before the first response.
    private(set) var latency: Duration?
    /// Like ``latency``, but for requests on idle connections.
    private var reusedLatency: Duration?
    /// The speeds of the idle connections in bytes per second: each has delivered all bytes of its request, so that the
    /// transport uses it for the next one.
    private(set) var idleRates: [Double] = []
    /// The final speeds of the last few connections, in bytes per second.
    private(set) var rates: [Double] = []
    /// The number of connections that were closed in a row because the first byte did not arrive.
    private var unansweredCount = 0
    /// Whether a connection to the source has failed since one last delivered bytes.
    private(set) var isFailing = false
    /// The number of consecutive failures.
    private var failures = 0
    private var lastFailure: Duration?
    /// The time before which no connection may be opened besides an open one; `nil` if there is no delay.
    ///
    /// While no connection is open, one may be opened earlier, unless ``soleFailures`` has reached ``maxSoleFailures``.
    private var notBefore: Duration?
    /// The number of consecutive unusable responses; at ``maxUnusableResponses``, the source is retired.
    ///
    /// ``retire()`` retires the source by setting this to the maximum.
    private var unusableResponses = 0
    /// The number of consecutive failures that closed the only connection to the source.
    private var soleFailures = 0
    /// Whether any connection to the source has delivered enough bytes not to count as failed; also `true` for the
    /// source of the first response.
    private(set) var hasDelivered = false
    /// Whether the source has been tried: it was measured for long enough to be compared with the others, a measured
    /// connection to it ended without a failure, or it needs no comparison.
    ///
    /// Reset if the only connection to the source fails.
    private(set) var isTried = false
    /// Whether a connection to the source was closed because other sources are faster;
    /// ``SourcePool/extraCount(triesNew:)`` does not count such a source.
    private(set) var isSuspended = false

    private static let maxRates = 4
    private static let maxUnusableResponses = 2
    /// The number of consecutive rejections (429, 503) after which a source that has delivered nothing is abandoned.
    private static let maxRefusals = 2
    private static let maxSoleFailures = 2
    private static let firstDelay = Duration.milliseconds(250)
    private static let maxDelay = Duration.seconds(30)

    init(allowance: Int, host: Int) {
        self.allowance = allowance
        self.host = host
    }

    /// Records that the source was measured for long enough to be compared with the others, or needs no comparison.
    mutating func tried() { isTried = true }

    /// Records that a connection to the source was closed because other sources are faster.
    mutating func suspend() { isSuspended = true }

    /// Whether no further connection to the source may be opened.
    var isRetired: Bool { unusableResponses >= Self.maxUnusableResponses }

    /// Whether another request may be sent besides `open` ones, on an idle connection or, without one, on a new one.
    ///
    /// A source that refuses further connections may accept one again after all others are closed.
    func mayOpen(beside open: Int, at now: Duration) -> Bool {
        let mayConnect = now >= notBefore ?? now || open == 0 && soleFailures < Self.maxSoleFailures
        return !isRetired && (mayConnect || !idleRates.isEmpty)
    }

    mutating func retire() { unusableResponses = Self.maxUnusableResponses }

    /// Records that a request was sent, on an idle connection if there is one.
    ///
    /// If the connection is new and earlier ones have failed, a delay begins, during which no other one may be opened.
    mutating func opened(at now: Duration) {
        if idleRates.popLast() == nil, failures > 0 { notBefore = now + delay }
    }

    mutating func headReceived(after latency: Duration, isReused: Bool = false) {
        let average = (isReused ? reusedLatency : self.latency).map { ($0 * 3 + latency) / 4 } ?? latency
        if isReused { reusedLatency = average } else { self.latency = average }
        unansweredCount = 0
    }

    /// Records that a connection was closed because the first byte of its response did not arrive.
    mutating func closedUnanswered() { unansweredCount += 1 }

    /// The minimum time that a connection gets for the first byte of its response; it doubles with each connection that
    /// was closed without one.
    var patience: Duration { SegmentPlanner.timeout * (1 << min(unansweredCount, 3)) }

    /// Returns the expected time from a request to the first byte, on an idle connection or a new one; zero if unknown.
    func latency(isReused: Bool) -> Duration { (isReused ? reusedLatency : nil) ?? latency ?? .zero }

    /// Records that a connection has delivered all bytes of its request, at this speed.
    mutating func becameIdle(_ rate: Double) { idleRates.append(rate) }

    /// Records that a connection has delivered enough bytes not to count as failed.
    ///
    /// A new connection, opened since the last failure, clears the failures; a request on an idle one does not show that
    /// the source accepts further connections.
    mutating func progressed(openedAt opened: Duration, isReused: Bool) {
        hasDelivered = true
        isFailing = false
        soleFailures = 0
        guard !isReused, opened >= lastFailure ?? opened else { return }
        failures = 0
        if !isRetired { unusableResponses = 0 }
        notBefore = nil
    }

    mutating func ended(with rate: Double) {
        if !isFailing { isTried = true }
        rates.append(rate)
        if rates.count > Self.maxRates { rates.removeFirst() }
    }

    /// Records the failure of a connection that has delivered too few bytes.
    ///
    /// - After the first failure, a new connection may be opened at once. Each further failure causes a longer delay.
    /// - Connections that fail together count as one failure.
    /// - A source that has delivered bytes is retired at the second consecutive unusable response. A single one may
    ///   come from one faulty node of the host.
    /// - A source that has delivered nothing is retired at its first failure. If its host only requests that the client
    ///   slow down (429, 503), it is retired at the second one.
    mutating func failed(
        _ failure: SegmentPlanner.Failure,
        openedAt opened: Duration,
        isAlone: Bool,
        at now: Duration
    ) {
        if isAlone {
            soleFailures += 1
            isTried = false
        }
        if !hasDelivered, failure != .refused || failures + 1 >= Self.maxRefusals { retire() }
        guard opened >= lastFailure ?? opened else { return }
        if failure == .unusable { unusableResponses += 1 }
        failures += 1
        isFailing = true
        lastFailure = now
        notBefore = failures == 1 ? now : now + delay
    }

    private var delay: Duration { min(Self.firstDelay * (1 << min(failures - 1, 16)), Self.maxDelay) }
}
