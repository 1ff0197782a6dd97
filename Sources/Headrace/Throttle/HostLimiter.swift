import HeadracePlatform

/// The number of connections that a download from a host settled on, and their speed; later downloads may begin with
/// this number.
struct HostExperience: Sendable, Hashable {
    var connections: Int
    /// The speed of all connections together, in bytes per second.
    var rate: Double
}

/// Limits the connections and retries per host, over all downloads of a manager.
final class HostLimiter: Sendable {
    /// A download that waits for its first connection.
    private struct Waiter {
        let latch: Latch
        /// The server whose shared connections the download may use; `nil` if it needs a connection of its own.
        let server: String?
    }

    private struct Connections {
        var limits: HostConnectionLimits
        var waiting: [DownloadID: Waiter] = [:]
        /// The servers whose connections several requests share; each has the value `true`.
        var multiplexed = RecentEntries<String, Bool>()

        /// Admits the waiting downloads of a host for which connections are free; returns the latches to open.
        mutating func admitWaiting(on host: @autoclosure () -> String, at now: Duration) -> [Latch] {
            guard !waiting.isEmpty else { return [] }
            return limits.admitWaiting(on: host(), at: now).compactMap { waiting.removeValue(forKey: $0)?.latch }
        }

        /// Records that a server lets requests share connections, and admits the waiting downloads that may share them;
        /// returns the latches to open.
        mutating func recordSharing(by url: URL, at now: Duration) -> [Latch] {
            let server = url.server
            guard multiplexed[server] == nil else { return [] }
            multiplexed[server] = true
            return waiting.filter { $1.server == server }.map { id, waiter in
                waiting[id] = nil
                limits.end(id, HostLimiter.host(of: url), at: now)
                return waiter.latch
            }
        }
    }

    /// The observations of earlier requests to a server.
    private struct Server {
        var hasResponded = false
        /// The connections that the latest download from the server settled on, and their speed; `nil` if no download
        /// has settled on a number.
        var experience: HostExperience?
    }

    private let connections: Locked<Connections>
    private let retries: Locked<HostRetryLimits>
    private let servers = Locked(RecentEntries<String, Server>())

    init(maximum: Int, isStrict: Bool, retriesPerMinute: Int?) {
        connections = Locked(Connections(limits: HostConnectionLimits(maximum: maximum, isStrict: isStrict)))
        retries = Locked(HostRetryLimits(perMinute: retriesPerMinute))
    }

    /// Records that the server of a URL has responded; called only if the retry policy sets `maxUnreachableFailures`.
    func responded(_ url: URL) { if !hasResponded(url) { change(url) { $0.hasResponded = true } } }

    /// Whether the server of a URL has responded to any download.
    func hasResponded(_ url: URL) -> Bool { servers.withLock { $0[url.server]?.hasResponded ?? false } }

    /// Records the connections that a download from the server of a URL has settled on.
    func record(_ experience: HostExperience, of url: URL) { change(url) { $0.experience = experience } }

    private func change(_ url: URL, _ verb: (inout Server) -> Void) {
        let key = url.server
        servers.withLock { servers in
            var server = servers[key] ?? Server()
            verb(&server)
            servers[key] = server
        }
    }

    /// Returns the connections that the latest download from the server of a URL has settled on; `nil` if no download
    /// has settled on a number.
    func experience(_ url: URL) -> HostExperience? { servers.withLock { $0[url.server]?.experience } }

    /// Reserves and returns the time from which a retry to the URL's host may begin.
    func beginRetry(_ url: URL, at now: Duration) -> Duration {
        retries.withLock { $0.begin(of: Self.host(of: url), at: now) }
    }

    /// Returns the time until which the host of a URL has requested a delay, possibly in the past; `nil` if it has
    /// requested none.
    func notBefore(_ url: URL) -> Duration? {
        connections.withLock { $0.limits.isUntroubled ? nil : $0.limits.notBefore(Self.host(of: url)) }
    }

    /// Sets whether even the first connection of a download must not exceed the maximum number of connections to its
    /// host.
    ///
    /// Admits the waiting downloads that may begin with this setting.
    func setStrict(_ isStrict: Bool, at now: Duration) {
        let latches = connections.withLock { connections in
            connections.limits.isStrict = isStrict
            return connections.limits.names.flatMap { connections.admitWaiting(on: $0, at: now) }
        }
        for latch in latches { latch.open() }
    }

    /// Reserves a download's first connection to the host of a URL, until ``end(_:_:at:)``.
    ///
    /// If the host has too many connections, waits for other downloads to release one. If the task is cancelled while
    /// it waits, reserves nothing and throws `CancellationError`.
    ///
    /// With `mayShare`, reserves nothing if the server is known to let requests share a connection, or if a response
    /// shows this during the wait.
    func reserveFirst(_ id: DownloadID, _ url: URL, mayShare: Bool, clock: AnyClock) async throws(CancellationError) {
        let latch: Latch? = connections.withLock { connections in
            if mayShare, connections.multiplexed[url.server] != nil { return nil }
            guard !connections.limits.begin(id, on: Self.host(of: url), at: clock.now()) else { return nil }
            let latch = Latch()
            connections.waiting[id] = Waiter(latch: latch, server: mayShare ? url.server : nil)
            return latch
        }
        await latch?.wait(evenIfCancelled: false)
        guard latch != nil, Task.isCancelled else { return }
        end(id, url, at: clock.now())
        throw CancellationError()
    }

    /// Records whether a response arrived over a shared connection.
    ///
    /// - If so, releases the download's reserved connection, because a shared one is not counted for each request.
    ///   Admits the waiting downloads that may share it.
    /// - Otherwise, if the server was thought to let requests share, forgets that, and reserves a connection for the
    ///   download.
    func received(_ id: DownloadID, _ url: URL, isShared: Bool, at now: Duration) {
        guard !isShared else {
            let latches = connections.withLock { $0.recordSharing(by: url, at: now) }
            for latch in latches { latch.open() }
            return end(id, url, at: now)
        }
        connections.withLock { connections in
            // The server was expected to share, so nothing was reserved.
            guard connections.multiplexed[url.server] != nil else { return }
            connections.multiplexed[url.server] = nil
            _ = connections.limits.share(of: id, on: Self.host(of: url), wanting: 1, at: now)
        }
    }

    /// Lets waiting downloads use the connections to the host of a URL that other downloads have released and closed.
    func admitWaiting(_ url: URL, at now: Duration) {
        let latches = connections.withLock { $0.admitWaiting(on: Self.host(of: url), at: now) }
        for latch in latches { latch.open() }
    }

    /// Whether a download may open a connection to the host of a mirror's URL: the host has requested no delay, and a
    /// connection is free or the download has one already.
    func mayJoin(_ id: DownloadID, _ url: URL, at now: Duration) -> Bool {
        connections.withLock { $0.limits.mayJoin(id, Self.host(of: url), at: now) }
    }

    /// Reserves up to `wanted` connections to the host of a URL for a download; returns how many the download may have.
    ///
    /// The result is at least one, and the connections stay reserved until the next call for this download or
    /// ``release(_:_:at:)``. If `wanted` is 0, releases the connections and returns 0.
    ///
    /// If more connections are open than the result, the download must close the surplus ones and then call
    /// ``admitWaiting(_:at:)``.
    func share(of id: DownloadID, _ url: URL, wanting wanted: Int, at now: Duration) -> Int {
        connections.withLock { $0.limits.share(of: id, on: Self.host(of: url), wanting: wanted, at: now) }
    }

    /// Records that the host of a URL has accepted a request of a download, which was sent `latency` ago.
    func served(_ id: DownloadID, _ url: URL, after latency: Duration, at now: Duration) {
        connections.withLock { $0.limits.served(id, on: Self.host(of: url), requested: now - latency, at: now) }
    }

    /// Lowers a host's limit and the download's reservation after a refused connection, a 429 or a 503; returns whether
    /// the host serves another download.
    ///
    /// `retryAfter` is the delay that the host has requested; `nil` for none.
    @discardableResult
    func refused(_ id: DownloadID, _ url: URL, retryAfter: Duration?, at now: Duration) -> Bool {
        connections.withLock { $0.limits.refused(id, on: Self.host(of: url), retryAfter: retryAfter, at: now) }
    }

    /// Lowers the limit of a URL's host: it serves only this number of connections of the download, and has refused
    /// further ones, which are closed.
    func limit(_ id: DownloadID, _ url: URL, to count: Int, at now: Duration) {
        connections.withLock { $0.limits.limit(id, on: Self.host(of: url), to: count, at: now) }
    }

    /// Whether the host of a URL recently refused a connection or a request, so that its limit is still lower than the
    /// configured one.
    func hasRefused(_ url: URL, at now: Duration) -> Bool {
        connections.withLock { $0.limits.isLowered(Self.host(of: url), at: now) }
    }

    /// Releases the connections of a download to the host of a URL, except for the first one if it was reserved with
    /// ``reserveFirst(_:_:mayShare:clock:)``; admits waiting downloads.
    func release(_ id: DownloadID, _ url: URL, at now: Duration) {
        connections.withLock { $0.limits.release(id, Self.host(of: url), at: now) }
        admitWaiting(url, at: now)
    }

    /// Releases all connections of a download to the host of a URL, because they are closed or idle; admits waiting
    /// downloads.
    func end(_ id: DownloadID, _ url: URL, at now: Duration) {
        let host = Self.host(of: url)
        let latches = connections.withLock { connections in
            connections.waiting.discard(id)
            connections.limits.end(id, host, at: now)
            return connections.admitWaiting(on: host, at: now)
        }
        for latch in latches { latch.open() }
    }

    static func host(of url: URL) -> String { url.lowercasedHost }
}
