extension SegmentedFetch {
    /// The time after its first byte from which the speed of a connection is compared with those of others.
    private static let settlingTime = Duration.seconds(2)

    /// Returns the measurements that show how the network limits the speed; `nil` if the file has several sources.
    func connections(in state: borrowing State, at now: Duration) -> BottleneckDetector.Connections? {
        let (planner, url) = (state.planner, sources[0].url)
        guard sources.count == 1 else { return nil }
        let (receiving, wanted) = (planner.segments.filter(\.hasReceived), planner.advisedConnections)
        return BottleneckDetector.Connections(
            scaling: planner.controller.scaling,
            cap: planner.sources[0].allowance < wanted
                ? environment.hosts.hasRefused(url, at: now) ? .refused : .limit
                : wanted == Self.maxAutomatic && planner.segments.count == wanted ? .maximum : nil,
            roundTrip: planner.controller.roundTrip,
            rates: receiving.compactMap { $0.rate(at: now) ?? $0.earlierRate },
            isSettled: receiving.allSatisfy {
                $0.earlierRate != nil || now - ($0.firstByte ?? now) >= Self.settlingTime
            }
        )
    }
}
