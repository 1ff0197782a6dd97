/// Divides the connections that each host may have among the downloads from it.
///
/// Pure. A host that refuses connections gets one less for each refusal, and one more again every ``raiseInterval``; as
/// long as it asks to wait, nobody gets more than it has. Every download has at least the one that it runs with, which
/// is the scheduler's to grant: with more downloads than connections, the limit is theirs.
struct HostConnectionLimits: Sendable {
    private struct Host {
        var limit: Int
        /// When the limit was last changed.
        var changed = Duration.zero
        var notBefore: Duration?
        var downloads: [(id: DownloadID, wanted: Int, granted: Int)] = []
    }

    /// How long a host must not have refused anything to get one more connection.
    static let raiseInterval = Duration.seconds(30)
    /// Hosts above this number are looked through for those that are of no meaning any more.
    private static let leastSweep = 64

    private let maximum: Int
    private var hosts: [String: Host] = [:]

    init(maximum: Int) {
        self.maximum = maximum
    }

    /// Whether nothing is known of any host.
    var isUntroubled: Bool { hosts.isEmpty }

    /// When a host may be asked again, where it has asked to wait.
    func notBefore(_ host: String) -> Duration? { hosts[host]?.notBefore }

    /// Says how many connections a download that has use for so many may have to a host, until it asks again.
    ///
    /// The sum is never above the limit, as long as each download ends at once what it has too much.
    mutating func share(of id: DownloadID, on host: String, wanting wanted: Int, at now: Duration) -> Int {
        var state = recovered(host, at: now)
        defer { hosts[host] = state }
        let index = state.downloads.firstIndex { $0.id == id } ?? state.downloads.endIndex
        if index == state.downloads.endIndex { state.downloads.append((id, wanted, 0)) }
        state.downloads[index].wanted = wanted
        let held = state.downloads[index].granted
        let free = state.limit - state.downloads.reduce(0) { $0 + $1.granted } + held
        let most = now < state.notBefore ?? now ? held : free
        state.downloads[index].granted = max(1, min(Self.fairShare(of: index, in: state), most))
        return state.downloads[index].granted
    }

    /// A connection was refused, or answered with 429 or 503; returns whether the host sends another download meanwhile.
    @discardableResult
    mutating func refused(_ id: DownloadID, on host: String, retryAfter: Duration?, at now: Duration) -> Bool {
        var state = recovered(host, at: now)
        let open = state.downloads.reduce(0) { $0 + $1.granted }
        // Small downloads are not counted.
        state.limit = max(1, (open > 0 ? min(state.limit, open) : state.limit) - 1)
        state.changed = now
        if let retryAfter { state.notBefore = max(state.notBefore ?? now, now + retryAfter) }
        if let index = state.downloads.firstIndex(where: { $0.id == id }) {
            state.downloads[index].granted = max(1, state.downloads[index].granted - 1)
        }
        hosts[host] = state
        return state.downloads.contains { $0.id != id }
    }

    /// A download has ended, or leaves the host alone.
    mutating func left(_ id: DownloadID, _ host: String, at now: Duration) {
        hosts[host]?.downloads.removeAll { $0.id == id }
        if isIdle(host, at: now) { hosts[host] = nil }
        if hosts.count > Self.leastSweep { hosts = hosts.filter { !isIdle($0.key, at: now) } }
    }

    /// Whether nothing has to be kept of a host.
    private func isIdle(_ host: String, at now: Duration) -> Bool {
        let state = recovered(host, at: now)
        return state.downloads.isEmpty && state.limit == maximum && state.notBefore == nil
    }

    private func recovered(_ host: String, at now: Duration) -> Host {
        var state = hosts[host] ?? Host(limit: maximum)
        if let end = state.notBefore, now >= end { state.notBefore = nil }
        let raises = min(maximum - state.limit, Int((now - state.changed) / Self.raiseInterval))
        if raises > 0 {
            state.limit += raises
            state.changed += Self.raiseInterval * raises
        }
        return state
    }

    /// Nobody gets more than it wants, and nobody less than another that wants as much, but for one.
    private static func fairShare(of index: Int, in host: Host) -> Int {
        var (left, others) = (host.limit, host.downloads.count)
        for (wanted, position) in host.downloads.enumerated().map({ ($1.wanted, $0) }).sorted(by: <) {
            let share = min(wanted, max(0, left) / others)
            if position == index { return share }
            left -= max(1, share)
            others -= 1
        }
        return 0
    }
}
