import HeadracePlatform
import Synchronization

/// A server on 127.0.0.1 that cuts every first download in the middle, then responds according to the case.
///
/// The URL of a trial's file is `http://127.0.0.1:PORT/<case>/<trial>/file.bin`.
final class ResumeServer: Sendable {
    static let fileName = "file.bin"

    private let acceptor: LoopbackAcceptor
    /// The trials whose first run is over.
    private let resumed = Mutex<Set<String>>([])

    init() throws {
        acceptor = try LoopbackAcceptor()
    }

    func start() throws {
        try acceptor.start { [self] in serve($0) }
    }

    func stop() {
        acceptor.stop()
    }

    func url(_ situation: ResumeCase, trial: Int) -> String {
        "http://127.0.0.1:\(acceptor.port)/\(situation.rawValue)/\(trial)/\(Self.fileName)"
    }

    /// Responds to the trial's later requests according to its case.
    func endFirstRun(_ situation: ResumeCase, trial: Int) {
        resumed.withLock { _ = $0.insert("\(situation.rawValue)/\(trial)") }
    }

    private func serve(_ socket: Int32) {
        var buffered: [UInt8] = []
        while let head = LoopbackConnection.readHead(from: socket, &buffered) {
            let request = LoopbackRequest(head)
            guard let response = response(request) else {
                _ = LoopbackConnection.send("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", to: socket)
                return
            }
            guard response.send(to: socket, isHead: request.method == "HEAD"), request.isKept else { break }
        }
        // Closing a socket with unread bytes would send a reset, but this must be an orderly end.
        shutdown(socket, Int32(SHUT_WR))
        while LoopbackConnection.readHead(from: socket, &buffered) != nil {}
    }

    private func response(_ request: LoopbackRequest) -> ScriptedResponse? {
        let parts = request.path.split(separator: "/").map(String.init)
        guard ["GET", "HEAD"].contains(request.method), parts.count == 3, parts[2] == Self.fileName,
            let situation = ResumeCase(rawValue: parts[0])
        else { return nil }
        let isResumed = resumed.withLock { $0.contains("\(parts[0])/\(parts[1])") }
        return isResumed ? ScriptedResponse(request, in: situation) : .first(request, in: situation)
    }
}
