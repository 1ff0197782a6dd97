import HeadracePlatform
import Synchronization

/// Accepts connections on 127.0.0.1, each on its own thread of this process, until it is stopped.
final class LoopbackAcceptor: Sendable {
    let port: UInt16
    private let listener: Int32
    private let isStopped = Mutex(false)

    init() throws {
        (listener, port) = try Loopback.listen()
    }

    /// Starts accepting; `serve` runs on a thread per socket, which is closed when it returns.
    func start(_ serve: @escaping @Sendable (Int32) -> Void) throws {
        try SystemThread.start { [self] in
            while !isStopped.withLock({ $0 }) {
                var waiting = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
                guard poll(&waiting, 1, 200) > 0 else { continue }
                let socket = accept(listener, nil, nil)
                guard socket >= 0 else { continue }
                // A tool started meanwhile must not inherit the connection and hold it open.
                _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
                var one: Int32 = 1
                setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
                do {
                    try SystemThread.start {
                        serve(socket)
                        close(socket)
                    }
                } catch {
                    close(socket)
                }
            }
            close(listener)
        }
    }

    func stop() {
        isStopped.withLock { $0 = true }
    }
}
