/// The server side of one HTTP/2 connection, on its own thread.
///
/// Requests are served one after the other: a script controls every frame, and two scripts would interleave theirs.
struct HTTP2Connection {
    /// The frame types that the server itself handles (RFC 9113, section 6).
    private enum Kind {
        static let data: UInt8 = 0
        static let headers: UInt8 = 1
        static let reset: UInt8 = 3
        static let settings: UInt8 = 4
        static let ping: UInt8 = 6
        static let goAway: UInt8 = 7
        static let windowUpdate: UInt8 = 8
        static let continuation: UInt8 = 9
    }

    private struct Frame {
        var kind: UInt8
        var flags: UInt8
        var stream: UInt32
        var payload: ArraySlice<UInt8>
    }

    /// The connection ended, or the script closed it.
    private struct Ended: Error {}

    private static let endsStream: UInt8 = 1
    private static let isAcknowledgement: UInt8 = 1
    private static let endsHeaders: UInt8 = 4
    private static let prefaceSize = 24
    private static let largestFrame: Int64 = 16_384

    private let line: ClientLine
    private let session: TLSSession
    private let number: Int
    private let decoder: HeaderDecoder
    private var input: [UInt8] = []
    private var buffer = [UInt8](repeating: 0, count: 16 * 1024)
    private var requests: [(stream: UInt32, request: RecordedRequest)] = []
    private var headerBlock: [UInt8] = []
    private var resetStreams: Set<UInt32> = []
    /// The flow-control windows for sending: of new streams, of streams that differ, and of the connection.
    private var initialWindow: Int64 = 65_535
    private var windows: [UInt32: Int64] = [:]
    private var connectionWindow: Int64 = 65_535

    init(_ line: ClientLine, _ session: TLSSession, _ number: Int, _ decoder: HeaderDecoder) {
        self.line = line
        self.session = session
        self.number = number
        self.decoder = decoder
    }

    /// Runs the scripts of all requests until a side ends the connection.
    mutating func run(settings: [(identifier: UInt16, value: UInt32)], script: (RecordedRequest) -> [HTTP2Step]) {
        do throws(Ended) {
            try receive(Self.prefaceSize)
            input.removeFirst(Self.prefaceSize)
            try perform(.settings(settings), 0)
            while true {
                while requests.isEmpty { try readFrame() }
                let (stream, request) = requests.removeFirst()
                for step in script(request) where !resetStreams.contains(stream) { try perform(step, stream) }
            }
        } catch {
            return
        }
    }

    // MARK: Sending

    private mutating func perform(_ step: HTTP2Step, _ stream: UInt32) throws(Ended) {
        switch step {
        case .headers(let fields, let endsStream):
            let flags = Self.endsHeaders | (endsStream ? Self.endsStream : 0)
            try send(Kind.headers, flags, stream, HeaderDecoder.block(of: fields))
        case .data(let body, let endsStream): try send(body, endsStream, stream)
        case .reset(let code): try send(Kind.reset, 0, stream, Self.bytes(code.rawValue))
        case .goAway(let code, let isProcessed):
            try send(Kind.goAway, 0, 0, Self.bytes(isProcessed ? stream : 0) + Self.bytes(code.rawValue))
        case .settings(let values):
            let payload = values.flatMap { value in
                [UInt8(value.identifier >> 8), UInt8(value.identifier & 0xff)] + Self.bytes(value.value)
            }
            try send(Kind.settings, 0, 0, payload)
        case .frame(let kind, let flags, let payload, let isOfConnection):
            try send(kind, flags, isOfConnection ? 0 : stream, payload)
        case .stall:
            _ = line.socket.wait()
            throw Ended()
        case .wait(let gate):
            if line.socket.wait(for: gate) == .hungUp { throw Ended() }
        case .close(let saysGoodbye):
            line.finish(saysGoodbye: saysGoodbye)
            throw Ended()
        }
    }

    private mutating func send(_ body: Response.Body, _ endsStream: Bool, _ stream: UInt32) throws(Ended) {
        var offset: Int64 = 0
        repeat {
            var room = min(windows[stream, default: initialWindow], connectionWindow)
            while room <= 0, offset < body.count {
                try readFrame()
                guard !resetStreams.contains(stream) else { return }
                room = min(windows[stream, default: initialWindow], connectionWindow)
            }
            let piece = offset < body.count ? body.run(at: offset, upTo: min(room, Self.largestFrame)) : []
            offset += Int64(piece.count)
            windows[stream, default: initialWindow] -= Int64(piece.count)
            connectionWindow -= Int64(piece.count)
            let isLast = endsStream && offset == body.count
            try send(Kind.data, isLast ? Self.endsStream : 0, stream, Array(piece))
        } while offset < body.count
    }

    private func send(_ kind: UInt8, _ flags: UInt8, _ stream: UInt32, _ payload: [UInt8]) throws(Ended) {
        let head = Self.bytes(UInt32(payload.count)).dropFirst() + [kind, flags] + Self.bytes(stream)
        guard (head + payload).withUnsafeBytes(line.send) else { throw Ended() }
    }

    private static func bytes(_ value: UInt32) -> [UInt8] {
        withUnsafeBytes(of: value.bigEndian, Array.init)
    }

    // MARK: Receiving

    private mutating func receive(_ count: Int) throws(Ended) {
        while input.count < count {
            let count = line.receive(into: &buffer)
            guard count > 0 else { throw Ended() }
            input += buffer[..<count]
        }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        bytes.reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Reads and handles one frame.
    private mutating func readFrame() throws(Ended) {
        try receive(9)
        let size = Int(Self.number(input[..<3]))
        try receive(9 + size)
        let frame = Frame(
            kind: input[3],
            flags: input[4],
            stream: Self.number(input[5..<9]) & 0x7fff_ffff,
            payload: ArraySlice(Array(input[9..<9 + size]))
        )
        input.removeFirst(9 + size)
        try handle(frame)
    }

    private mutating func handle(_ frame: Frame) throws(Ended) {
        switch frame.kind {
        case Kind.headers, Kind.continuation:
            var payload = frame.payload
            // Strip the padding and the priority, which a server may ignore.
            if frame.kind == Kind.headers, frame.flags & 8 != 0, let padding = payload.popFirst() {
                payload.removeLast(Int(padding))
            }
            if frame.kind == Kind.headers, frame.flags & 0x20 != 0 { payload.removeFirst(5) }
            headerBlock += payload
            guard frame.flags & Self.endsHeaders != 0 else { return }
            guard let fields = decoder.fields(of: headerBlock) else { throw Ended() }
            headerBlock = []
            requests.append((frame.stream, request(fields)))
        case Kind.settings where frame.flags & Self.isAcknowledgement == 0:
            var rest = frame.payload
            while rest.count >= 6 {
                let value = Int64(Self.number(rest.dropFirst(2).prefix(4)))
                // SETTINGS_INITIAL_WINDOW_SIZE
                if Self.number(rest.prefix(2)) == 4 {
                    for stream in windows.keys { windows[stream]? += value - initialWindow }
                    initialWindow = value
                }
                rest.removeFirst(6)
            }
            try send(Kind.settings, Self.isAcknowledgement, 0, [])
        case Kind.windowUpdate:
            let increment = Int64(Self.number(frame.payload) & 0x7fff_ffff)
            if frame.stream == 0 {
                connectionWindow += increment
            } else {
                windows[frame.stream, default: initialWindow] += increment
            }
        case Kind.ping where frame.flags & Self.isAcknowledgement == 0:
            try send(Kind.ping, Self.isAcknowledgement, 0, Array(frame.payload))
        case Kind.reset: resetStreams.insert(frame.stream)
        default: break
        }
    }

    private func request(_ fields: [RecordedRequest.Field]) -> RecordedRequest {
        func pseudo(_ name: String) -> String { fields.first { $0.name == name }?.value ?? "" }
        return RecordedRequest(
            connection: number,
            method: pseudo(":method"),
            target: pseudo(":path"),
            version: "HTTP/2",
            fields: fields.filter { !$0.name.hasPrefix(":") },
            body: []
        )
    }
}
