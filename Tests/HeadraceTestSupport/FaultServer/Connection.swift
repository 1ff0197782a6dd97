/// The server side of one connection, on its own thread.
struct Connection {
    private let socket: Socket
    private let number: Int
    private let log: TrafficLog

    init(_ socket: Socket, number: Int, log: TrafficLog) {
        self.socket = socket
        self.number = number
        self.log = log
    }

    /// Serves requests until either side ends the connection, and closes the socket.
    /// - Parameters:
    ///   - response: The response to the requests.
    ///   - greeting: How the connection ends before anything is read; `nil` to serve it.
    func run(answering response: Response, greeting: Ending?) {
        socket.prepare()
        if let ending = greeting ?? serve(response) { perform(ending) }
        log.close(number)
    }

    /// Returns how the server ends the connection; `nil` if the client has ended it.
    private func serve(_ response: Response) -> Ending? {
        var reader = RequestReader(socket: socket, connection: number)
        while true {
            switch reader.next() {
            case .request(let arrived):
                let request = log.begin(arrived)
                let message = response.message(request)
                var writer = MessageWriter(socket: socket, log: log, request: request)
                switch writer.write(message) {
                case .complete:
                    log.end(request)
                    if !request.keepsAlive { return .fin }
                case .ending(let ending):
                    return ending
                case .broken:
                    return nil
                }
            case .malformed:
                _ = Array("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".utf8)
                    .withUnsafeBytes { socket.send($0) }
                return .fin
            case .ended:
                return nil
            }
        }
    }

    private func perform(_ ending: Ending) {
        switch ending {
        case .fin:
            log.beginEnding(number)
            socket.finish()
        case .reset:
            socket.armReset()
            log.beginEnding(number)
        case .stall:
            _ = socket.wait()
        }
    }
}
