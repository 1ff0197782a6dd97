import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A server on 127.0.0.1 that paces its files and misbehaves on purpose, in threads of this process.
///
/// `http://127.0.0.1:PORT/<behaviour>/<file number>` is a file of the one size; a request may set its own pace with
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
        /// After how many bytes of the body the connection ends, and whether with a reset.
        let cut: (bytes: Int, isReset: Bool)?
    }

    private struct FileState {
        var version = 1
        var requests: UInt64 = 0
    }

    let size: Int
    let rate: Int
    let port: UInt16
    private let seed: UInt64
    private let listener: Int32
    private let files = Mutex<[Int: FileState]>([:])
    private let sent = Mutex<[Behaviour: Int]>([:])
    private let isStopped = Mutex(false)

    /// Binds a port; the seed decides cuts and changes, the rate is in bytes per second of one answer.
    init(seed: UInt64, size: Int, rate: Int) throws {
        (listener, port) = try Loopback.listen()
        self.seed = seed
        self.size = size
        self.rate = rate
    }

    /// Takes connections from now on.
    func start() throws {
        try SystemThread.start { [self] in
            while !isStopped.withLock({ $0 }) {
                var waiting = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
                guard poll(&waiting, 1, 200) > 0 else { continue }
                let socket = accept(listener, nil, nil)
                guard socket >= 0 else { continue }
                // No tool that is started meanwhile may hold the connection open.
                _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
                let connection = HostileConnection(server: self, socket: socket)
                do { try SystemThread.start { connection.serve() } } catch { close(socket) }
            }
            close(listener)
        }
    }

    func stop() {
        isStopped.withLock { $0 = true }
    }

    func url(_ behaviour: Behaviour, file: Int) -> String {
        "http://127.0.0.1:\(port)/\(behaviour.rawValue)/\(file)"
    }

    /// The versions that a file has had.
    func versions(of file: Int) -> ClosedRange<Int> {
        1...files.withLock { $0[file]?.version ?? 1 }
    }

    /// The bytes of bodies that were given to the kernel.
    func sentBytes(_ behaviour: Behaviour) -> Int {
        sent.withLock { $0[behaviour] ?? 0 }
    }

    func count(_ bytes: Int, for behaviour: Behaviour) {
        sent.withLock { $0[behaviour, default: 0] += bytes }
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
            let bytes = Int.random(in: 0..<size, using: &random)
            return Turn(version: state.version, cut: (bytes, Bool.random(using: &random)))
        }
    }
}
