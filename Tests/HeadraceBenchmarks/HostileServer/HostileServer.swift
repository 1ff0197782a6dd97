import Synchronization

/// A server on 127.0.0.1 that paces its files and misbehaves on purpose, in threads of this process.
///
/// `http://127.0.0.1:PORT/<behaviour>/<file number>` is a file; a request may set its own pace with
/// the field `Bench-Rate`, in bytes per second, 0 for none.
final class HostileServer: Sendable {
    /// What a server does to its clients.
    enum Behaviour: String, Sendable, CaseIterable {
        /// A strong entity tag, ranges, `If-Range` honoured: nothing that excuses a byte fetched twice.
        case good
        /// Good, but half of the answers end early: with a FIN or with a reset.
        case cutting
        /// Good, but now and then the file has new bytes and a new tag when it is asked for, and answers may be cut.
        case changing
        /// Sends the whole file to whoever sends `If-Range`, as some servers do.
        case rangeless

        /// Whether a download of this server may have to start again.
        var isChanging: Bool { self == .changing }
    }

    /// How one request is to be answered.
    struct Turn {
        let version: Int
        /// After which share of the body the connection ends, and whether with a reset.
        let cut: (share: Double, isReset: Bool)?
    }

    /// What one answer has sent so far: offsets in the file.
    struct Delivery: Sendable {
        let file: Int
        let behaviour: Behaviour
        let start: Int
        var end: Int
        /// When it began, and when its last bytes were given to the kernel.
        let began = MonotonicTime.now
        var ended = MonotonicTime.now
    }

    private struct FileState {
        var version = 1
        var requests: UInt64 = 0
    }

    let rate: Int
    private let size: @Sendable (Int) -> Int
    private let seed: UInt64
    private let acceptor: LoopbackAcceptor
    private let files = Mutex<[Int: FileState]>([:])
    private let log = Mutex<[Delivery]>([])

    /// Binds a port; the seed decides cuts and changes, the rate is in bytes per second of one answer.
    convenience init(seed: UInt64, size: Int, rate: Int) throws {
        try self.init(seed: seed, rate: rate) { _ in size }
    }

    /// As the other, with a size for each file.
    init(seed: UInt64, rate: Int, size: @escaping @Sendable (Int) -> Int) throws {
        acceptor = try LoopbackAcceptor()
        self.seed = seed
        self.size = size
        self.rate = rate
    }

    /// Takes connections from now on.
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

    /// The versions that a file has had.
    func versions(of file: Int) -> ClosedRange<Int> {
        1...files.withLock { $0[file]?.version ?? 1 }
    }

    /// All answers so far, in the order in which they began.
    var deliveries: [Delivery] { log.withLock { $0 } }

    /// Takes note of an answer that begins at an offset; returns its place in ``deliveries``.
    func begin(at start: Int, of file: Int, _ behaviour: Behaviour) -> Int {
        log.withLock { log in
            log.append(Delivery(file: file, behaviour: behaviour, start: start, end: start))
            return log.count - 1
        }
    }

    /// Counts bytes that are given to the kernel.
    func count(_ bytes: Int, in delivery: Int) {
        let now = MonotonicTime.now
        log.withLock { log in
            log[delivery].end += bytes
            log[delivery].ended = now
        }
    }

    /// Decides the next answer for a file: by the seed, the file and how often it was asked for, and by nothing else.
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
