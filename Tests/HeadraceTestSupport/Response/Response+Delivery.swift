/// Modifiers of how and when the bytes come. Offsets count bytes of the body as it is before chunked coding.
extension Response {
    /// Ends the connection after so many bytes of the body.
    ///
    /// An offset at or beyond the end cuts off what would follow the body, such as the last chunk.
    package func truncated(after offset: Int64, by ending: Ending = .fin) -> Response {
        modified { $0.cut = Message.Cut(offset: offset, ending: ending) }
    }

    /// Sends no more after so many bytes of the body, and keeps the connection open.
    package func stalled(after offset: Int64) -> Response {
        truncated(after: offset, by: .stall)
    }

    /// Ends the connection after so many bytes of the head.
    package func headTruncated(after offset: Int64, by ending: Ending = .fin) -> Response {
        modified { $0.headCut = Message.Cut(offset: offset, ending: ending) }
    }

    /// Ends the connection after the whole message, without announcing it.
    package func ending(by ending: Ending) -> Response {
        modified { $0.ending = ending }
    }

    /// Sends so many bytes of the body in each interval, which is rounded up to milliseconds.
    package func dripping(bytes count: Int64, every interval: Duration) -> Response {
        modified { $0.pace = Message.Pace(bytes: count, interval: interval) }
    }

    /// Sends the body no faster than this, in fifty pieces a second.
    package func limited(bytesPerSecond: Int64) -> Response {
        let pieces = min(max(bytesPerSecond, 1), 50)
        return dripping(bytes: max(bytesPerSecond, 1) / pieces, every: .seconds(1) / Int(pieces))
    }

    /// Waits before anything is sent, unless the client closes.
    package func delayed(_ duration: Duration) -> Response {
        modified { $0.delay = duration }
    }

    /// Waits after so many bytes of the body, at zero after the head, until the test opens a gate.
    package func held(after offset: Int64, until gate: Gate) -> Response {
        modified { $0.hold = Message.Hold(offset: offset, gate: gate) }
    }

    /// Sends so many bytes behind the end of the message.
    package func extraBytes(_ count: Int) -> Response {
        modified { $0.surplus = [UInt8](repeating: UInt8(ascii: "X"), count: count) }
    }
}
