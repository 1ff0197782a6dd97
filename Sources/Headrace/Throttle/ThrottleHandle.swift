/// Applies the rate limits to one connection.
///
/// When the last reference to the handle is released, its unused tokens return to the limits.
final class ThrottleHandle: Sendable {
    private let rates: ThrottleController
    private let clock: AnyClock
    private let id: DownloadID
    private let group: String?
    private let scopes: [RateLimiter.Scope]
    private let connection = Locked<RateLimiter.Connection?>(nil, rank: .throttleHandle)

    init(_ record: some RateLimitedDownload, _ rates: ThrottleController, _ clock: AnyClock) {
        self.rates = rates
        self.clock = clock
        id = record.id
        group = record.group
        scopes = RateLimiter.Scope.all(of: record.id, group: group)
        rates.open(record, scopes)
    }

    deinit {
        rates.close(id, scopes, connection.withLock { $0 })
    }

    /// The number of bytes that the connection may buffer; `nil` if no rate limit applies.
    var bufferBytes: Int? { rates.bufferBytes(scopes) }

    /// Waits until the limits allow reading, and returns how many bytes may be read, at most `wanted`; throws
    /// `CancellationError` if the task is cancelled while it waits.
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
    /// Returns the scopes of the limits that apply to a download.
    static func all(of id: DownloadID, group: String?) -> [RateLimiter.Scope] {
        [.all, .download(id)] + (group.map { [.group($0)] } ?? [])
    }
}
