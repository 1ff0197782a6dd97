/// Modifiers that control how and when bytes are sent. Offsets count bytes of the body before chunked coding.
extension Response {
    /// Ends the connection after `offset` bytes of the body.
    ///
    /// An offset at or beyond the end cuts off anything that follows the body, such as the last chunk.
    package func truncated(after offset: Int64, by ending: Ending = .fin) -> Response {
        modified { $0.cut = Message.Cut(offset: offset, ending: ending) }
    }

    /// Sends nothing after `offset` bytes of the body, and leaves the connection open.
    package func stalled(after offset: Int64) -> Response {
        truncated(after: offset, by: .stall)
    }

    /// Ends the connection after `offset` bytes of the head.
    package func headTruncated(after offset: Int64, by ending: Ending = .fin) -> Response {
        modified { $0.headCut = Message.Cut(offset: offset, ending: ending) }
    }

    /// Ends the connection after the whole message, without announcing it.
    package func ending(by ending: Ending) -> Response {
        modified { $0.ending = ending }
    }

    /// Sends `count` bytes of the body per interval, which is rounded up to milliseconds.
    package func dripping(bytes count: Int64, every interval: Duration) -> Response {
        modified { $0.pace = Message.Pace(bytes: count, interval: interval) }
    }

    /// Limits the body's rate by sending fifty pieces per second.
    package func limited(bytesPerSecond: Int64) -> Response {
        let pieces = min(max(bytesPerSecond, 1), 50)
        return dripping(bytes: max(bytesPerSecond, 1) / pieces, every: .seconds(1) / Int(pieces))
    }

    /// Waits before sending anything, unless the client closes the connection.
    package func delayed(_ duration: Duration) -> Response {
        modified { $0.delay = duration }
    }

    /// Waits for a gate to open after `offset` bytes of the body; zero is after the head.
    package func held(after offset: Int64, until gate: Gate) -> Response {
        modified { $0.hold = Message.Hold(offset: offset, gate: gate) }
    }

    /// Waits for a gate to open before sending anything.
    package func held(until gate: Gate) -> Response {
        modified { $0.gate = gate }
    }

    /// Sends `count` surplus bytes after the end of the message.
    package func extraBytes(_ count: Int) -> Response {
        modified { $0.surplus = [UInt8](repeating: UInt8(ascii: "X"), count: count) }
    }
}
