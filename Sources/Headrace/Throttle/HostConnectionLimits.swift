/// Divides the connections that each host allows among the downloads from that host.
///
/// This type performs no I/O. When a host refuses a connection, its limit falls below the number of reserved
/// connections, but not below one; ``LimitRecovery`` raises it again. While the host requests a delay, no download gets
/// additional connections.
///
/// At the limit, the first connection of a new download depends on the other downloads:
/// - If one of them has several connections, the new download waits. It counts in the fair shares, so one of the others
///   must release a connection.
/// - If each of them has only one, the new download exceeds the limit. With ``isStrict``, it may exceed a limit that
///   refusals have lowered, but not the maximum.
struct HostConnectionLimits: Sendable {
    private struct Host {
        var limit: Int
        var recovery = LimitRecovery()
        var notBefore: Duration?
        /// The downloads, oldest first.
        var downloads: [Reservation] = []
        /// The latest download that the host served, and when it accepted that request.
        var lastServed: (id: DownloadID, time: Duration)?

        var granted: Int { downloads.reduce(0) { $0 + $1.granted } }

        mutating func change(_ id: DownloadID, _ verb: (inout Reservation) -> Void) {
            if let index = downloads.firstIndex(where: { $0.id == id }) { verb(&downloads[index]) }
        }

        mutating func served(_ id: DownloadID, requested: Duration, at now: Duration) {
            lastServed = (id, now)
            change(id) { $0.isServed = true }
            if recovery.lastRefusal < requested { notBefore = nil }
        }

        /// Whether the host serves another download, or accepted a request of one shortly before.
        func servesOthers(than id: DownloadID, at now: Duration) -> Bool {
            if let lastServed, lastServed.id != id, now - lastServed.time < HostConnectionLimits.serviceInterval {
                return true
            }
            return downloads.contains { $0.id != id && $0.isServed }
        }
    }

    /// The connections of one download; none are granted while it waits for its first one.
    private struct Reservation {
        let id: DownloadID
        var wanted = 1
        var granted = 0
        /// Whether ``begin(_:on:at:)`` was called, so that the first connection stays reserved until ``end(_:_:at:)``.
        var hasBegun = false
        /// Whether the host accepted a request of the download.
        var isServed = false
    }

    /// The time for which a host counts as serving a download after it has accepted a request, even if the response has
    /// ended since.
    static let serviceInterval = Duration.seconds(10)
    /// The number of tracked hosts above which idle ones are removed.
    private static let sweepThreshold = 64

    private let maximum: Int
    /// Whether even the first connection of a download must not exceed the maximum number of connections to its host;
    /// set if the manager chooses the number of downloads.
    var isStrict: Bool
    private var hosts: [String: Host] = [:]

    init(maximum: Int, isStrict: Bool = false) {
        (self.maximum, self.isStrict) = (maximum, isStrict)
    }

    /// Whether no host is tracked, so that none has a lowered limit or a requested delay.
    var isUntroubled: Bool { hosts.isEmpty }

    /// The tracked hosts.
    var names: [String] { hosts.keys.sorted() }

    /// Returns the time until which a host has requested a delay, possibly in the past; `nil` if it has requested none.
    func notBefore(_ host: String) -> Duration? { hosts[host]?.notBefore }

    /// Reserves the first connection of a download to a host; returns `false` if the download must wait until
    /// ``admitWaiting(on:at:)`` returns it.
    mutating func begin(_ id: DownloadID, on host: String, at now: Duration) -> Bool {
        var state = recovered(host, at: now)
        defer { hosts[host] = state }
        if let index = state.downloads.firstIndex(where: { $0.id == id }) {
            state.downloads[index].hasBegun = true
            return true
        }
        let isWaiting = state.downloads.contains { $0.granted == 0 }
        let isAdmitted = !isWaiting && mayBegin(in: state)
        state.downloads.append(Reservation(id: id, granted: isAdmitted ? 1 : 0, hasBegun: true))
        return isAdmitted
    }

    /// Reserves the first connections of waiting downloads, as far as connections are free; returns these downloads.
    mutating func admitWaiting(on host: String, at now: Duration) -> [DownloadID] {
        guard hosts[host] != nil else { return [] }
        var state = recovered(host, at: now)
        defer { hosts[host] = state }
        var admitted: [DownloadID] = []
        for index in state.downloads.indices where state.downloads[index].granted == 0 && mayBegin(in: state) {
            state.downloads[index].granted = 1
            admitted.append(state.downloads[index].id)
        }
        return admitted
    }

    private func mayBegin(in host: Host) -> Bool {
        host.granted < host.limit
            || host.downloads.allSatisfy { $0.granted <= 1 } && !(isStrict && host.granted >= maximum)
    }

    /// Whether a download may use a host that it does not depend on, such as a mirror: the host has requested no delay,
    /// and a connection is free or the download has one already.
    func mayJoin(_ id: DownloadID, _ host: String, at now: Duration) -> Bool {
        let state = recovered(host, at: now)
        let isUsing = state.downloads.contains { $0.id == id && $0.granted > 0 }
        return state.notBefore == nil && (isUsing || state.granted < state.limit)
    }

    /// Reserves up to `wanted` connections to a host for a download; returns how many the download may have.
    ///
    /// The result is at least one, and the connections stay reserved until the next call for this download or
    /// ``release(_:_:at:)``. If `wanted` is 0, releases the connections like ``release(_:_:at:)`` and returns 0.
    ///
    /// All downloads together stay within the host's limit if the limit allows at least one connection for each, and if
    /// each download closes surplus connections at once.
    mutating func share(of id: DownloadID, on host: String, wanting wanted: Int, at now: Duration) -> Int {
        guard wanted > 0 else {
            release(id, host, at: now)
            return 0
        }
        var state = recovered(host, at: now)
        defer { hosts[host] = state }
        let index = state.downloads.firstIndex { $0.id == id } ?? state.downloads.endIndex
        if index == state.downloads.endIndex { state.downloads.append(Reservation(id: id)) }
        state.downloads[index].wanted = wanted
        let current = state.downloads[index].granted
        let free = state.limit - state.granted + current
        let available = now < state.notBefore ?? now ? current : free
        state.downloads[index].granted = max(1, min(Self.fairShare(of: index, in: state), available))
        return state.downloads[index].granted
    }

    /// Records that a host has accepted a request of a download, which was sent at the time `requested`.
    ///
    /// If the host has refused no request since then, it no longer requires a delay.
    mutating func served(_ id: DownloadID, on host: String, requested: Duration, at now: Duration) {
        // In place, because this is called for each response.
        hosts[host]?.served(id, requested: requested, at: now)
    }

    /// Lowers a host's limit and the download's reservation after a refused connection, a 429 or a 503; returns whether
    /// the host serves another download.
    ///
    /// `retryAfter` is the delay that the host has requested; `nil` for none.
    @discardableResult
    mutating func refused(_ id: DownloadID, on host: String, retryAfter: Duration?, at now: Duration) -> Bool {
        var state = recovered(host, at: now)
        defer { hosts[host] = state }
        state.recovery.refused(at: now)
        // The host did not refuse a single connection because of their number. Requests that share a connection are not
        // counted, so `granted` may be zero.
        if state.granted != 1 {
            state.limit = max(1, (state.granted > 0 ? min(state.limit, state.granted) : state.limit) - 1)
        }
        if let retryAfter { state.notBefore = max(state.notBefore ?? now, now + retryAfter) }
        state.change(id) { $0.granted = max(1, $0.granted - 1) }
        return state.servesOthers(than: id, at: now)
    }

    /// Lowers a host's limit and the download's reservation: the host serves only this number of connections of the
    /// download, and has refused further ones, which are closed.
    mutating func limit(_ id: DownloadID, on host: String, to count: Int, at now: Duration) {
        var state = recovered(host, at: now)
        defer { hosts[host] = state }
        let others = state.downloads.reduce(0) { $1.id == id ? $0 : $0 + $1.granted }
        state.recovery.refused(at: now)
        state.limit = max(1, min(state.limit, others + count))
        state.change(id) { $0.granted = max(1, min($0.granted, count)) }
    }

    /// Whether a host's limit is lowered, because it refused connections or requests.
    func isLowered(_ host: String, at now: Duration) -> Bool { recovered(host, at: now).limit < maximum }

    /// Releases the connections of a download, except for the first one if ``begin(_:on:at:)`` reserved it.
    mutating func release(_ id: DownloadID, _ host: String, at now: Duration) {
        guard let index = hosts[host]?.downloads.firstIndex(where: { $0.id == id && $0.hasBegun }) else {
            return end(id, host, at: now)
        }
        hosts[host]?.downloads[index].wanted = 1
        hosts[host]?.downloads[index].granted = 1
    }

    /// Records that a download no longer uses the host.
    mutating func end(_ id: DownloadID, _ host: String, at now: Duration) {
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
        while state.limit < maximum, now >= state.recovery.nextRaise {
            state.limit += 1
            state.recovery.raised(at: state.recovery.nextRaise)
        }
        return state
    }

    /// Returns the fair share of the download at this index.
    ///
    /// All shares are equal or differ by one, but no download gets more than it wants: the others share what it does
    /// not need.
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
