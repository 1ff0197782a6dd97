import Synchronization

/// A server on 127.0.0.1 that paces its files and misbehaves on purpose, on threads of this process.
///
/// The URL of a file is `http://127.0.0.1:PORT/<behaviour>/<file number>`.
final class HostileServer: Sendable {
    /// The way in which the server treats its clients.
    enum Behaviour: String, Sendable, CaseIterable {
        /// A strong entity tag, ranges, `If-Range` honoured: a client has no excuse for downloading a byte twice.
        case good
        /// Like `good`, but half of the responses end early, with a FIN or with a reset.
        case cutting
        /// Like `good`, but a request sometimes finds new bytes and a new tag, and responses may be cut.
        case changing
        /// Ignores the range in a request with `If-Range` and sends the whole file, as some servers do.
        case rangeless

        /// Whether a download from this server may have to restart.
        var isChanging: Bool { self == .changing }
    }

    /// How to respond to one request.
    struct Turn {
        let version: Int
        /// The share of the body after which the connection ends, and whether with a reset; `nil` for a complete body.
        let cut: (share: Double, isReset: Bool)?
    }

    /// The bytes that one response has sent so far, as offsets in the file.
    struct Delivery: Sendable {
        let file: Int
        let behaviour: Behaviour
        let start: Int
        var end: Int
        /// When the response began, and when its last bytes were passed to the kernel.
        let began = MonotonicTime.now
        var ended = MonotonicTime.now
    }

    private struct FileState {
        var version = 1
        var requests: UInt64 = 0
    }

    private let pace: Atomic<Int>
    private let size: @Sendable (Int) -> Int
    private let seed: UInt64
    private let acceptor: LoopbackAcceptor
    private let files = Mutex<[Int: FileState]>([:])
    private let log = Mutex<[Delivery]>([])

    /// Binds a port; the seed determines cuts and changes, and the rate is in bytes per second of one response.
    convenience init(seed: UInt64, size: Int, rate: Int) throws {
        try self.init(seed: seed, rate: rate) { _ in size }
    }

    /// Creates a server with a size for each file.
    init(seed: UInt64, rate: Int, size: @escaping @Sendable (Int) -> Int) throws {
        acceptor = try LoopbackAcceptor()
        self.seed = seed
        self.size = size
        pace = Atomic(rate)
    }

    /// Starts to accept connections.
    func start() throws {
        try acceptor.start { [self] in HostileConnection(server: self, socket: $0).serve() }
    }

    func stop() {
        acceptor.stop()
    }

    func url(_ behaviour: Behaviour, file: Int) -> String {
        "http://127.0.0.1:\(acceptor.port)/\(behaviour.rawValue)/\(file)"
    }

    func size(of file: Int) -> Int { size(file) }

    /// The rate of each response in bytes per second; 0 for no limit.
    ///
    /// A change applies to later responses.
    var rate: Int {
        get { pace.load(ordering: .relaxed) }
        set { pace.store(newValue, ordering: .relaxed) }
    }

    /// Returns the versions that a file has had.
    func versions(of file: Int) -> ClosedRange<Int> {
        1...files.withLock { $0[file]?.version ?? 1 }
    }

    /// All responses so far, in the order in which they began.
    var deliveries: [Delivery] { log.withLock { $0 } }

    /// Records a response that starts at an offset; returns its index in ``deliveries``.
    func begin(at start: Int, of file: Int, _ behaviour: Behaviour) -> Int {
        log.withLock { log in
            log.append(Delivery(file: file, behaviour: behaviour, start: start, end: start))
            return log.count - 1
        }
    }

    /// Counts bytes that are passed to the kernel.
    func count(_ bytes: Int, in delivery: Int) {
        let now = MonotonicTime.now
        log.withLock { log in
            log[delivery].end += bytes
            log[delivery].ended = now
        }
    }

    /// Decides the next response for a file, depending only on the seed, the file and the number of requests for it.
    func nextTurn(of file: Int, _ behaviour: Behaviour) -> Turn {
        files.withLock { files in
            var state = files[file] ?? FileState()
            state.requests += 1
            defer { files[file] = state }
            var random = SplitMix(seed: seed &+ UInt64(file) &* 1_000_003 &+ state.requests &* 7_919)
            if behaviour == .changing, state.requests > 1, Int.random(in: 0..<5, using: &random) == 0 {
                state.version += 1
            }
            let cuts = [Behaviour.cutting: 2, .changing: 4]
            guard let one = cuts[behaviour], Int.random(in: 0..<one, using: &random) == 0 else {
                return Turn(version: state.version, cut: nil)
            }
            let share = Double.random(in: 0..<1, using: &random)
            return Turn(version: state.version, cut: (share, Bool.random(using: &random)))
        }
    }
}
