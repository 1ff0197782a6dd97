import HeadracePlatform
import Synchronization

/// The implementation of the hidden verb `serve`: a file server on 127.0.0.1 with one thread per connection.
///
/// It supports only the HTTP that the scenes need: GET and HEAD, persistent connections, one range, an entity tag. Its
/// arguments are the directory, the port and, in a network namespace, the address. It ends when its parent process
/// does, however that ended.
enum LoopbackService {
    static func main(_ arguments: [String]) throws -> Int32 {
        guard (2...3).contains(arguments.count), let port = UInt16(arguments[1]) else {
            throw BenchmarkError.usage("serve DIRECTORY PORT [ADDRESS]")
        }
        // The working directory is the root, so a thread needs only its socket.
        guard chdir(arguments[0]) == 0 else { throw BenchmarkError.system("cannot enter \(arguments[0])") }
        let address = arguments.count == 3 ? arguments[2] : Loopback.address
        let listener = try Loopback.listen(on: port, at: address).descriptor
        let parent = getppid()
        while getppid() == parent {
            var waiting = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
            guard poll(&waiting, 1, 500) > 0 else { continue }
            let connection = accept(listener, nil, nil)
            if connection >= 0 { startThread(for: connection) }
        }
        return 0
    }

    /// The socket is passed as the bits of the thread's argument, which avoids an allocation and its ownership.
    private static func startThread(for connection: Int32) {
        #if canImport(Darwin)
        var thread: pthread_t?
        #else
        var thread = pthread_t()
        #endif
        let argument = UnsafeMutableRawPointer(bitPattern: Int(connection) + 1)
        let code = pthread_create(
            &thread,
            nil,
            { argument in
                pthread_detach(pthread_self())
                LoopbackConnection.serve(Int32(Int(bitPattern: argument) - 1))
                return nil
            },
            argument
        )
        if code != 0 { close(connection) }
    }
}

/// Numbers connections from zero, starting over when none is open, so that each run of a tool gets the same numbers.
private final class ConnectionNumbers: Sendable {
    static let shared = ConnectionNumbers()

    private let state = Mutex((open: 0, next: 0))

    func open() -> Int {
        state.withLock { state in
            if state.open == 0 { state.next = 0 }
            state.open += 1
            state.next += 1
            return state.next - 1
        }
    }

    func close() {
        state.withLock { $0.open -= 1 }
    }
}

/// One connection of the loopback server.
enum LoopbackConnection {
    static func serve(_ socket: Int32) {
        let number = ConnectionNumbers.shared.open()
        defer {
            ConnectionNumbers.shared.close()
            close(socket)
        }
        var one: Int32 = 1
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
        var buffered: [UInt8] = []
        while let head = readHead(from: socket, &buffered) {
            let request = LoopbackRequest(head)
            guard response(request, on: socket, number), request.isKept else { return }
        }
    }

    /// Returns the next request head; `nil` at the end of the connection or if the head is too long.
    static func readHead(from socket: Int32, _ buffered: inout [UInt8]) -> String? {
        let blank: [UInt8] = [13, 10, 13, 10]
        var chunk = [UInt8](repeating: 0, count: 4_096)
        while true {
            if let end = buffered.firstRange(of: blank) {
                let head = String(decoding: buffered[..<end.lowerBound], as: UTF8.self)
                buffered.removeSubrange(..<end.upperBound)
                return head
            }
            let count = read(socket, &chunk, chunk.count)
            guard count > 0, buffered.count < 65_536 else { return nil }
            buffered += chunk[..<count]
        }
    }

    /// Sends the response; `false` if the connection is no longer usable.
    private static func response(_ request: LoopbackRequest, on socket: Int32, _ number: Int) -> Bool {
        guard request.method == "GET" || request.method == "HEAD" else {
            return send("HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n", to: socket)
        }
        if let delay = request.pace?.delay { usleep(UInt32(delay) * 1_000) }
        let file = open(request.path, O_RDONLY | O_CLOEXEC)
        defer { if file >= 0 { close(file) } }
        var status = stat()
        guard file >= 0, fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            return send("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", to: socket)
        }
        let size = Int(status.st_size)
        let tag = "\"\(String(status.st_ino, radix: 16))-\(String(size, radix: 16))\""
        let (head, body) = request.range(of: size, tag: tag).head(of: size, tag: tag)
        guard send(head, to: socket) else { return false }
        if request.method == "HEAD" { return true }
        guard let pace = request.pace, let rate = pace.rate(ofConnection: number) else {
            return send(body, of: file, to: socket)
        }
        let count = pace.limit(ofConnection: number, of: body.count) ?? body.count
        return send(body, of: file, to: socket, at: rate, atMost: count)
    }

    static func send(_ text: String, to socket: Int32) -> Bool {
        var text = text
        return text.withUTF8 { FileSystem.writeAll(UnsafeRawBufferPointer($0), to: socket) }
    }

    /// Sends in slices of 10 ms, then stays silent until the client hangs up if `count` is less than the range.
    private static func send(
        _ range: Range<Int>,
        of file: Int32,
        to socket: Int32,
        at rate: Int,
        atMost count: Int
    ) -> Bool {
        let end = range.lowerBound + count
        let start = ContinuousClock.now
        var position = range.lowerBound
        while position < end {
            let elapsed = (ContinuousClock.now - start) / .seconds(1) + 0.01
            let due = min(end, range.lowerBound + Int(Double(rate) * elapsed))
            guard send(position..<max(position, due), of: file, to: socket) else { return false }
            position = max(position, due)
            if position < end { usleep(10_000) }
        }
        guard end < range.upperBound else { return true }
        var rest = [UInt8](repeating: 0, count: 4_096)
        while read(socket, &rest, rest.count) > 0 {}
        return false
    }

    /// Lets the kernel copy from the page cache, so that no file data passes through this process.
    private static func send(_ range: Range<Int>, of file: Int32, to socket: Int32) -> Bool {
        var position = range.lowerBound
        while position < range.upperBound {
            let count = range.upperBound - position
            #if canImport(Darwin)
            var sent = off_t(count)
            guard sendfile(file, socket, off_t(position), &sent, nil, 0) == 0 || sent > 0 else { return false }
            position += Int(sent)
            #else
            var offset = off_t(position)
            let sent = sendfile(socket, file, &offset, count)
            if sent < 0, errno == EINTR { continue }
            guard sent > 0 else { return false }
            position += sent
            #endif
        }
        return true
    }
}
