import HeadracePlatform

/// Fetches the missing bytes of a file over several connections, as planned by a ``SegmentPlanner``.
///
/// One lock protects the planner and the state of the transfer. Each connection has a task that sends a request, reads
/// the body and writes bytes without holding the lock. No task waits for the disk while it holds the lock, since
/// ``tick()`` takes the lock on a thread of Swift's cooperative pool, which must not block. The tasks do not throw: a
/// fatal error is stored and ends the fetch.
final class SegmentedFetch: Sendable {
    struct Connection: Sendable {
        let id: SegmentID
        let range: Range<Int64>
        /// The index of the source in ``sources``.
        let source: Int
        let stop: StopSignal
    }

    /// The state shared by the tasks.
    struct State {
        var planner: SegmentPlanner
        /// The transfer that this fetch is part of, with the partial file and the state that all attempts share.
        var transfer: DownloadTransfer
        /// The indices of the sources that respond to `If-Range` with the whole file; requests to them do not send it.
        var sourcesWithoutIfRange: Set<Int>
        var stops: [SegmentID: StopSignal] = [:]
        /// The error with which the attempt fails.
        var failure: (any Error)?
        /// The error of the last lost connection.
        ///
        /// If bytes are still missing at the end, and the error is transient and a source is left, the attempt fails with
        /// this error. Otherwise, the missing bytes are requested in fewer parts; see ``SegmentedFetch/run(with:_:)``.
        var lastLoss: DownloadError?
        var floor: MinimumSpeedMonitor?
        var lastTick: Duration
        var lastFetchedBytes: Int64 = 0
        /// The number of tasks that are writing to the disk.
        var writers = 0

        /// Records that a response was accepted; if only a checksum can show that its bytes are of the known version,
        /// marks the partial file as unverified.
        mutating func accepted(_ proof: ResumeProof?) {
            guard proof == .checksum else { return }
            transfer.state.resume.accepted(proof)
            transfer.partial.markUnverified()
        }
    }

    private enum Command: Sendable {
        case open(Connection)
        /// Sync the file or write the resume record.
        case checkpoint
        /// Plan again, because the ranges that readers demand have changed.
        case demand
    }

    /// Work to do after the lock is released.
    private enum Effect: Sendable {
        case command(Command)
        case stop(StopSignal)
        case end
    }

    let record: DownloadRecord
    let environment: TransferEnvironment
    /// The time from the first request to its response.
    private let latency: Duration
    private let roundTrip: Duration
    /// The source of the first response, followed by the mirrors that may deliver segments.
    let sources: [DownloadSource]
    let target: FileLedger.Target
    let ledger: FileLedger
    let monitor: BottleneckMonitor?
    let state: Locked<State>
    /// The accepted body of the first response.
    private let accepted: BodyPlacement
    private let commands: AsyncStream<Command>
    private let continuation: AsyncStream<Command>.Continuation

    var clock: AnyClock { environment.clock }
    var hosts: HostLimiter { environment.hosts }

    /// Creates a fetch; returns `nil` if a single connection must deliver the bytes, or is the better choice.
    init?(of transfer: DownloadTransfer, _ response: RequestSender.Response, _ accepted: BodyPlacement) {
        guard Self.isPossible(for: transfer, after: response, accepted), let known = transfer.partial.representation,
            let totalBytes = accepted.totalBytes, let target = transfer.partial.target
        else { return nil }
        let configuration = transfer.environment.configuration
        let number = transfer.state.parts == .one ? 1 : configuration.maxConnectionsPerDownload
        let mode: ConcurrencyController.Mode = number.map { .fixed($0) } ?? .automatic(max: Self.maxAutomatic)
        ledger = transfer.partial.ledger
        monitor = transfer.monitor
        guard transfer.partial.hasGaps || mode != .fixed(1) || ledger.isRead else { return nil }
        // If only a checksum verifies the first response, its entity tag may differ from that of the received bytes.
        let isVerifiedAtEnd = EntityValidator(of: known) == nil || accepted.proof == .checksum
        let first = DownloadSource(response.chain, known, isVerifiedAtEnd: isVerifiedAtEnd)
        let mirrors = mode == .fixed(1) ? [] : DownloadSource.mirrors(of: known, for: transfer)
        sources = [first] + mirrors
        var transfer = transfer
        if sources.contains(where: { $0.deferredVerification != nil }) { transfer.state.verification.bind() }
        record = transfer.record
        environment = transfer.environment
        latency = response.latency
        self.target = target
        roundTrip = response.head.roundTrip ?? min(response.latency, Self.maxAssumedRoundTrip)
        self.accepted = accepted
        (commands, continuation) = AsyncStream.makeStream(of: Command.self)
        state = Locked(
            State(
                planner: SegmentPlanner(
                    SegmentList(totalBytes: totalBytes, held: transfer.partial.held),
                    // The other hosts get their allowances with the first change of the plan.
                    SourcePool(allowances: sources.hosts.map { $0 == 0 ? 1 : 0 }, hosts: sources.hosts),
                    ConcurrencyController(mode, after: environment.hosts.experience(first.url)),
                    wanted: ledger.demands
                ),
                transfer: transfer,
                sourcesWithoutIfRange: transfer.state.resume.sendsIfRange ? [] : [0],
                floor: configuration.speedFloor,
                lastTick: environment.clock.now(),
                lastFetchedBytes: transfer.state.fetchedBytes
            ),
            rank: .segmentedFetch
        )
    }

    /// Whether a segmented fetch is possible and useful: range requests can fetch the missing bytes, and either many
    /// bytes are missing or received ranges follow a gap.
    static func isPossible(
        for transfer: DownloadTransfer,
        after response: RequestSender.Response,
        _ accepted: BodyPlacement
    ) -> Bool {
        // Cheap checks come first: this runs for every file, and most files are small.
        guard transfer.state.parts != .none, accepted.overlapBytes == 0, accepted.totalBytes != nil,
            accepted.length != nil,
            isLarge(transfer.partial.ledger) || transfer.partial.hasGaps,
            response.head.status == 206 || response.head.acceptsRanges == true,
            !response.head.ignoresRange(in: accepted),
            let known = transfer.partial.representation
        else { return false }
        guard !known.refusesRanges else { return false }
        return EntityValidator(of: known) != nil || transfer.state.resume.isVerifiedAtEnd && known.contentCoding == nil
    }

    /// Whether a segmented fetch should serve a reader: the file has a reader, and many bytes are missing.
    static func isServing(_ ledger: FileLedger) -> Bool { ledger.isRead && isLarge(ledger) }

    private static func isLarge(_ ledger: FileLedger) -> Bool {
        ledger.read { ($0.representation?.totalBytes ?? 0) - $0.policy.written.count }
            >= 2 * SegmentPlanner.minShareBytes
    }

    /// The maximum number of connections if the configuration sets none.
    static let maxAutomatic = 16
    /// The maximum round-trip time that is assumed if the transport does not know it.
    private static let maxAssumedRoundTrip = Duration.milliseconds(200)

    /// Fetches the missing bytes until all connections have ended; returns the error with which the attempt fails if
    /// bytes are still missing.
    ///
    /// If the result is `nil` although bytes are missing, the caller lowers ``TransferState/Parts`` by one step: to one
    /// range at a time, then to a single range up to the end of the file.
    func run(with pump: BodyPump, _ transfer: inout DownloadTransfer) async -> (any Error)? {
        let first = Connection(id: .first, range: accepted.range, source: 0, stop: StopSignal())
        await withDiscardingTaskGroup { group in
            change(because: .delivered) { state, now in
                state.stops[.first] = first.stop
                limitConnections(in: &state)
                return state.planner.headArrived(first.range, latency: latency, roundTrip: roundTrip, at: now)
            }
            // Started only now, since the plan must begin with the segment of the first request.
            group.addTask(executorPreference: environment.computing) { [self] in await tick() }
            group.addTask { [self] in await readFirst(pump, of: first) }
            ledger.follow { [continuation] in continuation.yield(.demand) }
            // For readers that joined before the handler was set.
            continuation.yield(.demand)
            for await command in commands {
                switch command {
                case .open(let connection): group.addTask { [self] in await fetch(connection) }
                case .checkpoint: group.addTask { [ledger, target] in ledger.work(on: target) }
                case .demand: change(because: .delivered) { $0.planner.want(ledger.demands, at: $1) }
                }
            }
            ledger.follow(nil)
            group.cancelAll()
        }
        for source in sources { hosts.release(record.id, source.url, at: clock.now()) }
        environment.descriptors.releaseConnections(of: record.id)
        let (result, failure) = state.withLock { state in
            if let experience = state.planner.experience { hosts.record(experience, of: sources[0].url) }
            let isPlanned = state.planner.sources.allSatisfy(\.isRetired)
            let loss = isPlanned || state.lastLoss?.isTransient == false ? nil : state.lastLoss
            return (state.transfer, state.failure ?? loss)
        }
        transfer = result
        return failure
    }

    /// Checks the minimum speed, publishes the progress, and updates the plan and the limits of connections, every
    /// ``SegmentPlanner/tickInterval`` until the task is cancelled.
    private func tick() async {
        while (try? await clock.sleep(clock.now() + SegmentPlanner.tickInterval)) != nil {
            change(because: .slow) { state, now in
                do {
                    // Without a monitor, a rate limit is assumed to be reached.
                    let isThrottled = monitor?.isThrottled ?? (environment.rates.bufferBytes(for: record) != nil)
                    try state.checkMinimumSpeed(at: now, isThrottled: isThrottled)
                } catch {
                    state.failure = state.failure ?? error
                }
                // Published even without new bytes, since the average speed falls meanwhile.
                if let progress = state.transfer.state.meter.received(0, at: now) { record.status.publish(progress) }
                for (host, count) in state.planner.takeRefusals(at: now) {
                    hosts.limit(record.id, sources[host].url, to: count, at: now)
                }
                limitConnections(in: &state)
                monitor?.update(connections(in: state, at: now), at: now)
                return state.planner.tick(at: now)
            }
        }
    }

    private func limitConnections(in state: inout State) {
        state.planner.limitConnections { environment.descriptors.share(of: record.id, wanting: $0) }
    }

    // MARK: Planning

    /// Calls `verb` to change the planner, performs the actions that it returns, and publishes `cause` as the reason if
    /// connections stop.
    func change(because cause: ConnectionEndReason, _ verb: (inout State, Duration) -> [SegmentPlanner.Action]) {
        let now = clock.now()
        let effects = state.withLock { state in
            let before = state.planner.sources
            var effects = apply(verb(&state, now), cause, to: &state)
            for (index, source) in state.planner.sources.enumerated()
            where source.isRetired && !before[index].isRetired || source.isSuspended && !before[index].isSuspended {
                dropped(index, source.isSuspended && !source.isRetired ? .slowSource : cause, state)
            }
            let allowances = allowances(in: state, at: now)
            if allowances != state.planner.sources.map(\.allowance) {
                effects += apply(state.planner.allow(allowances, at: now), .hostLimit, to: &state)
            }
            if state.failure != nil { effects.append(.end) }
            return effects
        }
        for effect in effects { perform(effect) }
        // Only now, when surplus connections are being closed.
        for source in sources { hosts.admitWaiting(source.url, at: now) }
    }

    /// Reserves the connections that the planner wants at the host of each source; returns the numbers granted.
    ///
    /// For a mirror whose host admits no connection now, reserves none and returns the number of open connections.
    /// Releases the connections to the host of mirrors that are no longer used.
    private func allowances(in state: borrowing State, at now: Duration) -> [Int] {
        let planner = state.planner
        return sources.enumerated().map { index, source in
            let host = planner.sources[index].host
            let wanted = planner.wantedConnections(to: host, at: now)
            // While a mirror requires a delay, or has no free connection, other sources can deliver the bytes.
            if host > 0, wanted > 0, !hosts.mayJoin(record.id, source.url, at: now) {
                return planner.segments.count { planner.sources[$0.source].host == host }
            }
            return hosts.share(of: record.id, source.url, wanting: wanted, at: now)
        }
    }

    /// Publishes that a source is no longer used, and which one is used instead; if none is left, publishes the
    /// fallback to one connection.
    private func dropped(_ source: Int, _ cause: ConnectionEndReason, _ state: borrowing State) {
        // A copy, because a closure cannot capture the borrowed state on Apple platforms, where the size of a URL is
        // not known.
        let planned = state.planner.sources
        guard let next = sources.indices.first(where: { $0 != source && !planned[$0].isRetired }) else {
            return publish(.fellBackToOneConnection(reason: cause, bytesWasted: 0))
        }
        let url = sources[source].url
        let message = "\(url.withoutQuery) is no longer used. \(cause)"
        let error = DownloadError(cause.code, message, statusCode: cause.statusCode, url: url)
        publish(.sourceFailed(error, next: sources[next].url.withoutCredentials))
    }

    /// Lowers the limit of the host that refused a connection; returns the resulting actions.
    func refused(
        _ connection: Connection,
        _ error: DownloadError,
        in state: inout State,
        at now: Duration
    ) -> [SegmentPlanner.Action] {
        hosts.refused(record.id, sources[connection.source].url, retryAfter: error.retryAfter, at: now)
        let allowance = allowances(in: state, at: now)[connection.source]
        return state.planner.failed(connection.id, .refused, allowing: allowance, at: now)
    }

    private func apply(
        _ actions: [SegmentPlanner.Action],
        _ cause: ConnectionEndReason,
        to state: inout State
    ) -> [Effect] {
        var (effects, reason) = ([Effect](), cause)
        if case .failed = cause {
            if case .wasted? = actions.first {
            } else {
                publish(.connectionClosed(reason: cause, bytesWasted: 0))
            }
        }
        for (index, action) in actions.enumerated() {
            switch action {
            case .open(let id, let range, let source):
                let stop = StopSignal()
                state.stops[id] = stop
                effects.append(.command(.open(Connection(id: id, range: range, source: source, stop: stop))))
                let url = sources[source].url.withoutCredentials
                publish(.connectionOpened(range: range, from: url, connections: state.stops.count))
            case .stop(let id, let special):
                if let stop = state.stops.removeValue(forKey: id) { effects.append(.stop(stop)) }
                reason = special ?? cause
                if case .wasted? = actions.dropFirst(index + 1).first { continue }
                if reason == .delivered { continue }
                publish(.connectionClosed(reason: reason, bytesWasted: 0))
            case .wasted(let bytes):
                publish(.connectionClosed(reason: reason, bytesWasted: bytes))
            case .finished, .exhausted:
                effects.append(.end)
            }
        }
        return effects
    }

    private func perform(_ effect: Effect) {
        switch effect {
        case .command(let command): continuation.yield(command)
        case .stop(let stop): stop.stop(.cancelled)
        case .end: continuation.finish()
        }
    }

    private func publish(_ event: DownloadEvent) { record.status.publish(event) }

    /// Starts the due checkpoint in another task; if the fetch is ending, performs it here instead, and blocks.
    func checkpoint() {
        if case .terminated = continuation.yield(.checkpoint) { ledger.work(on: target) }
    }
}
