import Headrace
import HeadracePlatform
import Synchronization

/// A server on 127.0.0.1 that holds all requests back until `count` of them have arrived, then responds to all.
final class BarrierServer: Sendable {
    private static let body = [UInt8](repeating: UInt8(ascii: "x"), count: 1_000)

    private let count: Int
    private let pause: Double
    private let acceptor: LoopbackAcceptor
    private let held = Mutex<[Int32]>([])

    /// Binds a port; `pause` is the time in seconds between the two halves of each body.
    init(count: Int, pause: Double) throws {
        self.count = count
        self.pause = pause
        acceptor = try LoopbackAcceptor()
        DescriptorLimit.raise()
    }

    var url: String { "http://127.0.0.1:\(acceptor.port)" }

    func start() throws {
        try acceptor.start { [self] socket in
            var buffered: [UInt8] = []
            guard LoopbackConnection.readHead(from: socket, &buffered) != nil else { return }
            // The acceptor closes its descriptor; with a copy, a waiting request needs no thread.
            let copy = fcntl(socket, F_DUPFD_CLOEXEC, 0)
            let all = held.withLock { held in
                held.append(copy)
                return held.count == count ? held : []
            }
            response(all)
        }
    }

    func stop() {
        acceptor.stop()
    }

    private func response(_ sockets: [Int32]) {
        let head = "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: \(Self.body.count)\r\nConnection: close\r\n\r\n"
        let half = Self.body.count / 2
        for socket in sockets {
            _ = LoopbackConnection.send(head, to: socket)
            send(Self.body[..<half], to: socket)
            if pause == 0 { send(Self.body[half...], to: socket) }
        }
        if pause > 0 {
            usleep(UInt32(pause * 1_000_000))
            for socket in sockets { send(Self.body[half...], to: socket) }
        }
        for socket in sockets { close(socket) }
    }

    private func send(_ bytes: ArraySlice<UInt8>, to socket: Int32) {
        bytes.withUnsafeBytes { _ = FileSystem.writeAll($0, to: socket) }
    }
}
