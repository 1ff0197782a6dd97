/// The limits that the scheduler chooses itself.
extension Scheduler {
    /// The maximum number of running downloads; fewer than ``maximum`` if it is chosen automatically.
    var limit: Int { min(maximum, concurrency?.limit ?? .max) }

    /// Returns the maximum number of running downloads of a host.
    func limit(of host: Hosts.Number) -> Int {
        guard let concurrency else { return hostLimit ?? .max }
        return min(hostLimit ?? .max, concurrency.limit(of: hosts.name(host)))
    }

    /// Whether a download that starts should report its response head with ``received(headOf:of:isMultiplexed:)``.
    var needsHeads: Bool { concurrency?.needsHeads ?? false }

    /// Whether a download that starts may share a connection with others: its host uses HTTP/2, or its protocol is not
    /// known yet and many downloads are waiting, so that they are probably small.
    func mayShareConnection(_ id: ID) -> Bool {
        guard let concurrency, let host = entries[id]?.host else { return false }
        let waiting = ready.count + (waitingForHost[host]?.count ?? 0)
        return concurrency.usesHTTP2(hosts.name(host)) ?? (waiting >= DownloadConcurrency.initial)
    }

    /// Processes the first response head of a running download; `size` is the length of its body, `nil` if unknown.
    mutating func received(headOf size: Int64?, of id: ID, isMultiplexed: Bool) -> [Action] {
        guard startNumbers[id] != nil, let host = entries[id]?.host else { return [] }
        concurrency?.received(headOf: size, from: hosts.name(host), isMultiplexed: isMultiplexed)
        release(host)
        return startNext()
    }

    /// Adapts the limits to the measurement of a download that has just ended.
    mutating func adapt(
        to measurement: TransferMeasurement,
        of host: Hosts.Number,
        isLimited: Bool,
        at now: Duration
    ) {
        concurrency?.ended(
            measurement,
            from: hosts.name(host),
            running: (startNumbers.count, hosts[host]),
            isLimited: isLimited,
            at: now
        )
    }
}
