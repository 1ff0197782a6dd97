/// Divides the connections that each host allows among the downloads from that host.
///
/// This type performs no I/O. A host's limit is lowered by one when the host refuses a connection, and raised by one
/// every ``raiseInterval``. While the host requests a delay, no download gets additional connections. Every download
/// gets at least one connection, so the limit is exceeded if a host has more downloads than connections allowed.
struct HostConnectionLimits: Sendable {
    private struct Host {
        var limit: Int
        /// The time of the last change of the limit.
        var changed = Duration.zero
        var notBefore: Duration?
        var downloads: [(id: DownloadID, wanted: Int, granted: Int)] = []
    }

    /// The time after which a host's lowered limit is raised by one, counted from the last refusal or raise.
    static let raiseInterval = Duration.seconds(30)
    /// The number of tracked hosts above which idle ones are removed.
    private static let sweepThreshold = 64

    private let maximum: Int
    private var hosts: [String: Host] = [:]

    init(maximum: Int) {
        self.maximum = maximum
    }

    /// Whether no host is tracked; if so, no host has a lowered limit or a requested delay.
    var isUntroubled: Bool { hosts.isEmpty }

    /// Returns the time until which a host has requested a delay; `nil` if it has requested none.
    func notBefore(_ host: String) -> Duration? { hosts[host]?.notBefore }

    /// Reserves up to `wanted` connections to a host for a download; returns how many the download may have.
    ///
    /// The connections stay reserved until the next call for this download or ``release(_:_:at:)``.
    ///
    /// The connections of all downloads together stay within the host's limit if there are no more downloads than the
    /// limit, and if each download closes surplus connections at once.
    mutating func share(of id: DownloadID, on host: String, wanting wanted: Int, at now: Duration) -> Int {
        var state = recovered(host, at: now)
        defer { hosts[host] = state }
        let index = state.downloads.firstIndex { $0.id == id } ?? state.downloads.endIndex
        if index == state.downloads.endIndex { state.downloads.append((id, wanted, 0)) }
        state.downloads[index].wanted = wanted
        let current = state.downloads[index].granted
        let free = state.limit - state.downloads.reduce(0) { $0 + $1.granted } + current
        let available = now < state.notBefore ?? now ? current : free
        state.downloads[index].granted = max(1, min(Self.fairShare(of: index, in: state), available))
        return state.downloads[index].granted
    }

    /// Lowers a host's limit after a refused connection, a 429 or a 503; returns whether the host has another download.
    @discardableResult
    mutating func refused(_ id: DownloadID, on host: String, retryAfter: Duration?, at now: Duration) -> Bool {
        var state = recovered(host, at: now)
        let open = state.downloads.reduce(0) { $0 + $1.granted }
        // Connections of small downloads are not reserved, so `open` may be zero.
        state.limit = max(1, (open > 0 ? min(state.limit, open) : state.limit) - 1)
        state.changed = now
        if let retryAfter { state.notBefore = max(state.notBefore ?? now, now + retryAfter) }
        if let index = state.downloads.firstIndex(where: { $0.id == id }) {
            state.downloads[index].granted = max(1, state.downloads[index].granted - 1)
        }
        hosts[host] = state
        return state.downloads.contains { $0.id != id }
    }

    /// Records that a download has finished or no longer uses the host.
    mutating func release(_ id: DownloadID, _ host: String, at now: Duration) {
        hosts[host]?.downloads.removeAll { $0.id == id }
        if isIdle(host, at: now) { hosts[host] = nil }
        if hosts.count > Self.sweepThreshold { hosts = hosts.filter { !isIdle($0.key, at: now) } }
    }

    /// Whether a host has no downloads, no lowered limit and no requested delay, so that it can be removed.
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

    /// Returns the share of the download at this index: all shares are equal, except that no download gets more than it
    /// wants, and that shares may differ by one.
    private static func fairShare(of index: Int, in host: Host) -> Int {
        var (remaining, others) = (host.limit, host.downloads.count)
        for (wanted, position) in host.downloads.enumerated().map({ ($1.wanted, $0) }).sorted(by: <) {
            let share = min(wanted, max(0, remaining) / others)
            if position == index { return share }
            remaining -= max(1, share)
            others -= 1
        }
        return 0
    }
}
