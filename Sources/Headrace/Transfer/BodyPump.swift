/// Reads the body of an accepted response: waits for the rate limits, checks the minimum speed, divides the chunks and
/// reuses their memory.
///
/// Used by the download's first connection and by each further one.
struct BodyPump: Sendable {
    private(set) var body: ResponseBody
    /// The position of the body in the file; after ``restart(at:)``, that of the rest of the body.
    private(set) var placement: BodyPlacement
    private var slicer: BodySlicer
    /// Checks the speed of this connection; `nil` if no minimum is configured, or if the caller checks the total speed
    /// of several connections instead.
    var floor: MinimumSpeedMonitor?
    private let record: DownloadRecord
    private let environment: TransferEnvironment
    /// Measures what this connection waits for; `nil` for a small file.
    private let monitor: BottleneckMonitor?
    private var phase: BottleneckDetector.Phase?

    init(
        _ body: ResponseBody,
        _ placement: BodyPlacement,
        _ floor: MinimumSpeedMonitor?,
        for record: DownloadRecord,
        in environment: TransferEnvironment,
        _ monitor: BottleneckMonitor?
    ) {
        self.body = body
        self.placement = placement
        slicer = BodySlicer(placement)
        self.floor = floor
        self.record = record
        self.environment = environment
        self.monitor = monitor
    }

    /// Whether all bytes to compare have been read.
    var hasCompared: Bool { slicer.hasCompared }

    /// Treats the rest of the body as a new body that begins at `offset` in the file; the bytes before `offset` were
    /// written.
    mutating func restart(at offset: Int64) {
        placement = placement.rest(from: offset)
        slicer = BodySlicer(placement)
    }

    /// Passes each chunk of the body to `take`, until the body ends, all needed bytes were passed, or `take` returns
    /// `false`.
    ///
    /// `take` also receives the parts of the chunk to compare and to write, and whether the body continues with bytes
    /// to write.
    ///
    /// Throws `stalled` if the server was below the minimum speed for too long, and the errors of the body and of
    /// `take`.
    mutating func run(_ take: (UnsafeRawBufferPointer, BodySlicer.Piece, Bool) throws -> Bool) async throws {
        defer { enter(nil) }
        while !slicer.isDone, let chunk = try await next() {
            enter(.handling)
            let piece = slicer.slice(chunk.count)
            let isWriting = slicer.isWriting
            let continues = try chunk.withBytes { try take($0, piece, isWriting) }
            body.recycle(chunk)
            guard continues else { return }
        }
    }

    private mutating func enter(_ new: BottleneckDetector.Phase?) {
        guard let monitor, new != phase else { return }
        monitor.moved(from: phase, to: new)
        phase = new
    }

    /// Returns the next chunk of the body, within the rate limits; `nil` at the end.
    private mutating func next() async throws -> Chunk? {
        if body.lane == nil, environment.rates.hasLimit(for: record) {
            body.lane = ThrottleHandle(record, environment.rates, environment.clock)
        }
        try floor?.check()
        enter(.receiving)
        let start = floor == nil ? .zero : environment.clock.now()
        guard let lane = body.lane, let buffer = lane.bufferBytes else {
            if body.isHeldBack { _ = try await body.arrived(buffering: nil) }
            let chunk = try await body.next()
            if floor != nil { floor?.received(chunk?.count ?? 0, after: environment.clock.now() - start) }
            return chunk
        }
        let arrived = try await body.arrived(buffering: buffer)
        let wait = floor == nil ? .zero : environment.clock.now() - start
        guard arrived > 0 else { return nil }
        enter(.throttled)
        // During the wait, arriving bytes stay buffered, and a full buffer pauses the connection.
        let chunk = try await body.next(atMost: try await lane.allowance(of: arrived))
        floor?.received(chunk?.count ?? 0, after: wait)
        return chunk
    }
}
