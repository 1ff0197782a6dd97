/// The way of one connection's bytes through the limits; what it holds of them goes back with the last reference.
final class ThrottleHandle: Sendable {
    private let rates: ThrottleController
    private let clock: AnyClock
    private let id: Download.ID
    private let group: String?
    private let scopes: [RateLimiter.Scope]
    private let connection = Locked<RateLimiter.Connection?>(nil)

    init(_ record: DownloadRecord, _ environment: TransferEnvironment) {
        rates = environment.rates
        clock = environment.clock
        id = record.id
        group = record.requested { $0.group }
        scopes = RateLimiter.Scope.all(of: record.id, group: group)
        rates.open(record, scopes)
    }

    deinit {
        rates.close(id, scopes, connection.withLock { $0 })
    }

    /// What may wait in memory; nil where there is no limit.
    var bufferBytes: Int? { rates.bufferBytes(scopes) }

    /// Waits until bytes may be taken, and returns how many; throws `CancellationError` at once when the task is cancelled.
    func allowance(of wanted: Int) async throws -> Int {
        while true {
            let grant = connection.withLock { rates.take(wanted, &$0, id, group: group) }
            switch grant {
            case .bytes(let count): return count
            case .wait(let time): try await clock.sleep(time)
            }
        }
    }
}

extension RateLimiter.Scope {
    /// The limits that are for a download.
    static func all(of id: Download.ID, group: String?) -> [RateLimiter.Scope] {
        [.all, .download(id)] + (group.map { [.group($0)] } ?? [])
    }
}
