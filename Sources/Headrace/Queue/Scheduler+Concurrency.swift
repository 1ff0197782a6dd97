/// The limits that the scheduler chooses itself.
extension Scheduler {
    /// Creates a scheduler with the limits of a configuration; it starts nothing if the configuration says so.
    init(for environment: TransferEnvironment) {
        let configuration = environment.configuration
        self.init(
            limit: configuration.startsDownloads ? configuration.maxConcurrentDownloads.maximum : 0,
            concurrency: DownloadConcurrency(configuration.maxConcurrentDownloads, configuration),
            hostLimit: configuration.maxConcurrentDownloadsPerHost,
            gate: environment.gate,
            descriptors: environment.descriptors
        )
    }

    /// The maximum number of running downloads; fewer than ``maximum`` if it is chosen automatically.
    var limit: Int { min(maximum, concurrency?.limit ?? .max) }

    /// Returns the maximum number of running downloads of a host.
    func limit(of host: QueueHosts.Number) -> Int {
        guard let concurrency else { return hostLimit ?? .max }
        return min(hostLimit ?? .max, concurrency.limit(of: hosts.name(host)))
    }

    /// Whether a download that starts may share a connection with others: its host uses HTTP/2, or its protocol is not
    /// known yet and many downloads are waiting, so that they are probably small.
    func mayShareConnection(_ id: ID) -> Bool {
        guard let concurrency, let host = entries[id]?.host else { return false }
        return concurrency.usesHTTP2(hosts.name(host)) ?? (waiting.count(for: host) >= DownloadConcurrency.initial)
    }

    /// Processes the first response head of a running download; `size` is the length of its body, `nil` if unknown.
    mutating func received(headOf size: Int64?, of id: ID, isMultiplexed: Bool) -> [Action] {
        guard startNumbers[id] != nil, let host = entries[id]?.host else { return [] }
        concurrency?.received(headOf: size, from: hosts.name(host), isMultiplexed: isMultiplexed)
        release(host)
        return startNext()
    }
}
