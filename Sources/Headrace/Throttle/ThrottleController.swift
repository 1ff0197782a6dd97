import Synchronization

/// The rate limits of a manager: the limiter behind its lock, and the schedule.
///
/// The schedule is consulted when bytes are requested, at most once a minute, so no timer is needed.
final class ThrottleController: Sendable {
    /// The size of a connection's buffer, as the number of seconds that its bytes take at the rate limit.
    private static let bufferedTime = 0.25
    static let leastBuffer = 16 << 10

    private struct State {
        var limiter = RateLimiter()
        /// The user's limit for all downloads; if the schedule has a limit too, the lower one applies.
        var limit: Int64?
        var schedule: RateSchedule?
        /// The time at which the schedule must be consulted again.
        var nextScheduleCheck = Duration.zero
        /// For each scope, the number of open ``ThrottleHandle``s to which the scope's limit applies.
        var handles: [RateLimiter.Scope: Int] = [:]
    }

    private let clock: AnyClock
    private let localTime: @Sendable () -> LocalTime
    private let state = Locked(State(), rank: .throttleController)
    /// Whether a limit or a schedule is set; if not, the limiter is not consulted.
    private let hasLimits = Atomic(false)

    init(_ configuration: DownloadConfiguration, clock: AnyClock, localTime: @escaping @Sendable () -> LocalTime) {
        self.clock = clock
        self.localTime = localTime
        change { state, now in
            state.limit = configuration.rateLimit
            state.schedule = configuration.rateSchedule
            for (group, limit) in configuration.groupRateLimits {
                state.limiter.setLimit(limit, for: .group(group), at: now)
            }
        }
    }

    // MARK: Limits

    /// The current limit for all downloads in bytes per second; `nil` if there is none.
    var limit: Int64? {
        let now = clock.now()
        return state.withLock { state in
            follow(&state, at: now)
            return state.limiter.limit(for: .all)
        }
    }

    func limit(ofGroup group: String) -> Int64? { state.withLock { $0.limiter.limit(for: .group(group)) } }

    func setLimit(_ bytesPerSecond: Int64?) { change { state, _ in state.limit = bytesPerSecond } }

    func setLimit(_ bytesPerSecond: Int64?, ofGroup group: String) {
        change { $0.limiter.setLimit(bytesPerSecond, for: .group(group), at: $1) }
    }

    func setSchedule(_ schedule: RateSchedule?) { change { state, _ in state.schedule = schedule } }

    /// Applies the changed limit of a download if it has open handles; otherwise, its first handle will apply it.
    func limitChanged(of record: some RateLimitedDownload) {
        change { state, now in
            guard state.handles[.download(record.id)] != nil else { return }
            state.limiter.setLimit(record.rateLimit, for: .download(record.id), at: now)
        }
    }

    private func change(_ body: (inout State, Duration) -> Void) {
        let now = clock.now()
        state.withLock { state in
            body(&state, now)
            state.nextScheduleCheck = now
            follow(&state, at: now)
            updateHasLimits(state)
        }
    }

    private func updateHasLimits(_ state: borrowing State) {
        hasLimits.store(state.limiter.hasLimits || state.schedule != nil, ordering: .relaxed)
    }

    /// Sets the limit for all downloads to the lower of the user's and the schedule's, if the schedule must be
    /// consulted.
    private func follow(_ state: inout State, at now: Duration) {
        guard now >= state.nextScheduleCheck else { return }
        var limits = [state.limit]
        if let schedule = state.schedule {
            let time = localTime()
            limits.append(schedule.limit(weekday: time.weekday, minuteOfDay: time.minute))
            state.nextScheduleCheck = now + .seconds(max(1, 60 - time.second))
        } else {
            state.nextScheduleCheck = .seconds(Int64.max)
        }
        state.limiter.setLimit(limits.compactMap(\.self).min(), for: .all, at: now)
    }

    // MARK: Handles

    func open(_ record: some RateLimitedDownload, _ scopes: [RateLimiter.Scope]) {
        let now = clock.now()
        state.withLock { state in
            for scope in scopes { state.handles[scope, default: 0] += 1 }
            guard state.handles[.download(record.id)] == 1, let limit = record.rateLimit else { return }
            state.limiter.setLimit(limit, for: .download(record.id), at: now)
            updateHasLimits(state)
        }
    }

    func close(_ id: DownloadID, _ scopes: [RateLimiter.Scope], _ connection: RateLimiter.Connection?) {
        let now = clock.now()
        state.withLock { state in
            for scope in scopes {
                guard let count = state.handles[scope] else { continue }
                state.handles[scope] = count > 1 ? count - 1 : nil
            }
            if let connection { state.limiter.disconnect(connection, at: now) }
            guard state.handles[.download(id)] == nil else { return }
            state.limiter.setLimit(nil, for: .download(id), at: now)
            updateHasLimits(state)
        }
    }

    /// Whether a limit may apply to a download: a cheap check that may return `true` without a limit.
    func hasLimit(for record: some RateLimitedDownload) -> Bool {
        hasLimits.load(ordering: .relaxed) || record.rateLimit != nil
    }

    /// Returns how many bytes the next connection of a download may buffer; `nil` if the download is not limited.
    func bufferBytes(for record: some RateLimitedDownload) -> Int? {
        guard hasLimit(for: record) else { return nil }
        let scopes = RateLimiter.Scope.all(of: record.id, group: record.group)
        return buffer(rates(scopes, moreHandles: 1) + [record.rateLimit.map(Double.init)].compactMap(\.self))
    }

    /// Returns how many bytes a handle with these scopes may buffer; `nil` if none of the scopes is limited.
    func bufferBytes(_ scopes: [RateLimiter.Scope]) -> Int? {
        guard hasLimits.load(ordering: .relaxed) else { return nil }
        return buffer(rates(scopes, moreHandles: 0))
    }

    private func buffer(_ rates: [Double]) -> Int? {
        rates.min().map { max(Self.leastBuffer, Int(min($0 * Self.bufferedTime, 0x1p40))) }
    }

    /// Returns one handle's share of each scope's limit in bytes per second, as if `moreHandles` more were open.
    private func rates(_ scopes: [RateLimiter.Scope], moreHandles: Int) -> [Double] {
        let now = clock.now()
        return state.withLock { state in
            follow(&state, at: now)
            return scopes.compactMap { scope in
                let handles = max(1, state.handles[scope, default: 0] + moreHandles)
                return state.limiter.limit(for: scope).map { Double($0) / Double(handles) }
            }
        }
    }

    /// Requests up to `wanted` bytes from the limiter.
    ///
    /// If `connection` is `nil`, first adds a connection and stores it in `connection`. If no limit is set, grants all
    /// bytes and adds no connection.
    func take(
        _ wanted: Int,
        _ connection: inout RateLimiter.Connection?,
        _ id: DownloadID,
        group: String?
    ) -> RateLimiter.Grant {
        guard hasLimits.load(ordering: .relaxed) else { return .bytes(wanted) }
        let now = clock.now()
        let (grant, known) = state.withLock { [connection] state in
            follow(&state, at: now)
            let known = connection ?? state.limiter.connect(id, group: group, at: now)
            return (state.limiter.take(wanted, for: known, at: now), known)
        }
        connection = known
        return grant
    }
}
