/// Writes one message to the socket, with its cuts, paces and gates.
struct MessageWriter {
    /// How writing the message ended.
    enum Outcome {
        case complete
        case ending(Ending)
        /// The client has hung up, or the server is stopping.
        case broken
    }

    /// The connection is no longer usable.
    private struct BrokenConnection: Error {}

    /// Runs of at least this size are sent without copying; smaller ones are buffered first.
    private static let directSize = 16 * 1024
    private static let bufferLimit = 64 * 1024
    private static let pieceLimit: Int64 = 256 * 1024

    private let socket: Socket
    private let log: TrafficLog
    private let request: RecordedRequest
    private var buffer: [UInt8] = []
    /// The number of buffered bytes that belong to the body.
    private var bufferedBody = 0
    private var nextBeat: ContinuousClock.Instant?

    init(socket: Socket, log: TrafficLog, request: RecordedRequest) {
        self.socket = socket
        self.log = log
        self.request = request
    }

    mutating func write(_ message: Message) -> Outcome {
        do {
            if message.delay > .zero { try rest(for: message.delay) }
            if let gate = message.gate { try wait(for: gate) }
            buffer += message.interim
            if let head = message.head {
                let bytes = head.bytes
                if let cut = message.headCut {
                    buffer += bytes.prefix(Int(clamping: cut.offset))
                    return try finish(by: cut.ending)
                }
                buffer += bytes
                if let endless = head.endless { try repeatForEver(Array(endless.filler.utf8)) }
            }
            if request.method != "HEAD" || message.head == nil { try writeBody(of: message) }
            if let cut = message.cut { return try finish(by: cut.ending) }
            if request.method != "HEAD", let chunking = message.chunking { buffer += chunking.end }
            buffer += message.surplus
            return try finish(by: message.ending)
        } catch {
            return .broken
        }
    }

    private mutating func finish(by ending: Ending?) throws(BrokenConnection) -> Outcome {
        if ending != .stall { log.end(request) }
        try flush()
        return ending.map { .ending($0) } ?? .complete
    }

    private mutating func writeBody(of message: Message) throws(BrokenConnection) {
        let end = min(message.body.count, message.cut?.offset ?? .max)
        // Otherwise the request stays active after the last byte of the body.
        let isHeldAtEnd = message.hold.map { $0.offset >= end } ?? false
        let endsWithBody = (message.cut?.ending ?? message.ending) != .stall && !isHeldAtEnd
        var chunks = message.chunking.map(ChunkFramer.init)
        var isHeld = message.hold != nil
        var offset: Int64 = 0
        while true {
            if isHeld, let hold = message.hold, offset >= hold.offset {
                try wait(for: hold.gate)
                isHeld = false
            }
            guard offset < end else { return }
            if let opening = chunks?.opening(remaining: message.body.count - offset) { buffer += opening }
            var limit = min(end - offset, MessageWriter.pieceLimit, chunks?.remaining ?? .max)
            if let pace = message.pace { limit = min(limit, pace.bytes) }
            if isHeld, let hold = message.hold { limit = min(limit, hold.offset - offset) }
            let count = try writeRun(of: message.body, at: offset, upTo: limit, endingAt: endsWithBody ? end : nil)
            offset += Int64(count)
            chunks?.remaining -= Int64(count)
            if chunks?.remaining == 0, offset < end || message.cut == nil { buffer += ChunkFramer.lineEnd }
            if let pace = message.pace, offset < end { try keep(pace) }
        }
    }

    /// Writes up to `limit` contiguous bytes of the body; returns their number.
    private mutating func writeRun(
        of body: Response.Body,
        at offset: Int64,
        upTo limit: Int64,
        endingAt end: Int64?
    ) throws(BrokenConnection) -> Int {
        let run = body.run(at: offset, upTo: limit)
        guard run.count >= MessageWriter.directSize else {
            buffer += run
            bufferedBody += run.count
            if buffer.count >= MessageWriter.bufferLimit { try flush() }
            return run.count
        }
        try flush()
        if offset + Int64(run.count) == end { log.end(request) }
        log.sent(run.count, for: request.index)
        let sent = run.withUnsafeBytes { socket.send($0) }
        guard sent == run.count else {
            log.sent(sent - run.count, for: request.index)
            throw BrokenConnection()
        }
        return run.count
    }

    private mutating func flush() throws(BrokenConnection) {
        guard !buffer.isEmpty else { return }
        // Counted before sending, so that a client that has read the bytes finds them in the log.
        log.sent(bufferedBody, for: request.index)
        let sent = buffer.withUnsafeBytes { socket.send($0) }
        guard sent == buffer.count else {
            log.sent(-bufferedBody, for: request.index)
            throw BrokenConnection()
        }
        buffer.removeAll(keepingCapacity: true)
        bufferedBody = 0
    }

    private mutating func rest(for duration: Duration) throws(BrokenConnection) {
        try flush()
        guard socket.wait(timeout: duration) == .timedOut else { throw BrokenConnection() }
    }

    private mutating func wait(for gate: Gate) throws(BrokenConnection) {
        try flush()
        guard socket.wait(for: gate) == .opened else { throw BrokenConnection() }
    }

    /// Waits for the next beat; a lag of more than one interval is not caught up.
    private mutating func keep(_ pace: Message.Pace) throws(BrokenConnection) {
        try flush()
        let now = ContinuousClock.now
        let beat = max(nextBeat ?? now, now - pace.interval) + pace.interval
        nextBeat = beat
        if beat > now { try rest(for: now.duration(to: beat)) }
    }

    private mutating func repeatForEver(_ filler: [UInt8]) throws(BrokenConnection) -> Never {
        while true {
            while buffer.count < MessageWriter.bufferLimit { buffer += filler }
            try flush()
        }
    }
}

/// Generates the size lines of chunked coding.
private struct ChunkFramer {
    static let lineEnd: [UInt8] = [13, 10]

    /// The remaining size of the current chunk.
    var remaining: Int64 = 0
    private let sizes: [(size: Int64, line: [UInt8])]
    private let sizeLine: [UInt8]?
    private var next = 0

    init(_ chunking: Message.Chunking) {
        sizes = chunking.sizes.map { ($0, ChunkFramer.line($0)) }
        sizeLine = chunking.sizeLine.map { Array("\($0)\r\n".utf8) }
    }

    /// Returns the size line of the next chunk if the current one is complete.
    mutating func opening(remaining rest: Int64) -> [UInt8]? {
        guard remaining == 0 else { return nil }
        let (size, line) = sizes[next]
        next = (next + 1) % sizes.count
        remaining = min(size, rest)
        return sizeLine ?? (size <= rest ? line : ChunkFramer.line(rest))
    }

    private static func line(_ size: Int64) -> [UInt8] {
        Array("\(String(size, radix: 16))\r\n".utf8)
    }
}
