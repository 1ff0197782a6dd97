/// A line between two computers, with a rate, a round trip, losses and a queue.
///
/// ```swift
/// let line = try Line("200mbit,120ms,0.02%")
/// line.seconds(for: 30_000_000, roundTrips: 2)  // 1.44
/// ```
struct Line: Sendable, Equatable {
    /// The bits per second in each direction, including the headers of IP.
    var rate: Int
    /// The time that a small packet takes there and back, in seconds.
    var roundTrip: Double
    /// The share of packets lost in each direction, from 0 to 1.
    var loss = 0.0
    /// The capacity of the queue at each end, in bytes.
    var queue: Int
    var seed: UInt64 = 1

    static let all = ["400mbit,10ms,0", "200mbit,120ms,0.02%", "20mbit,60ms,0.5%", "1gbit,1ms,0", "50mbit,300ms,0"]
        .compactMap { try? Line($0) }

    /// Parses `RATE,RTT,LOSS[,QUEUE[,SEED]]`.
    ///
    /// The queue holds what the line carries in a round trip unless the text says otherwise, and at least 128 KiB.
    init(_ text: String) throws {
        let fields = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard (3...5).contains(fields.count),
            let rate = Self.number(fields[0], units: ["kbit": 1e3, "mbit": 1e6, "gbit": 1e9]),
            let roundTrip = Self.number(fields[1], units: ["us": 1e-6, "ms": 1e-3, "s": 1]),
            let loss = Self.number(fields[2], units: ["%": 0.01, "": 1]),
            // The relay computes in nanoseconds.
            (1e4...1e11).contains(rate), (0...10).contains(roundTrip), (0..<1).contains(loss)
        else {
            throw BenchmarkError.usage("--line \(text): not RATE,RTT,LOSS[,QUEUE[,SEED]], as in 200mbit,120ms,0.02%")
        }
        self.rate = Int(rate.rounded())
        self.roundTrip = roundTrip
        self.loss = loss
        queue = max(Int(rate / 8 * roundTrip), 128 << 10)
        if fields.count > 3, !fields[3].isEmpty { queue = try OptionValue.size(fields[3].uppercased(), "--line") }
        if fields.count > 4 { seed = UInt64(try OptionValue.count(fields[4], "--line", atLeast: 0)) }
    }

    /// The line as the text that it can be parsed from.
    var text: String {
        let microseconds = Int((roundTrip * 1e6).rounded())
        return "\(rate / 1000)kbit,\(microseconds)us,\(Format.decimal(loss * 100, places: 6))%,\(queue),\(seed)"
    }

    var description: String {
        let speed = rate >= 1_000_000_000 ? (Double(rate) / 1e9, "Gbit/s") : (Double(rate) / 1e6, "Mbit/s")
        let parts = ["\(Self.short(speed.0)) \(speed.1)", "\(Self.short(roundTrip * 1000)) ms"]
        return (parts + (loss > 0 ? ["\(Self.short(loss * 100)) % lost"] : [])).joined(separator: ", ")
    }

    /// Returns the time in which the line alone carries that many bytes, after round trips that carry hardly anything.
    func seconds(for bytes: Int, roundTrips: Int) -> Double {
        Double(bytes) * 8 / Double(rate) + Double(roundTrips) * roundTrip
    }

    private static func number(_ text: String, units: [String: Double]) -> Double? {
        let digits = text.prefix { $0.isNumber || $0 == "." }
        guard let number = Double(digits), let unit = units[text.dropFirst(digits.count).lowercased()] else {
            return nil
        }
        return number * unit
    }

    /// Formats a number with at most three decimal places.
    private static func short(_ number: Double) -> String {
        let text = Format.decimal(number, places: 3)
        let zeros = text.reversed().prefix { $0 == "0" }.count
        return String(text.dropLast(zeros == 3 ? 4 : zeros))
    }
}
