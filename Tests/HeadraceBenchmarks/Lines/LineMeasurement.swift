/// A line as measured with datagrams; a negative value if there was no response.
struct LineMeasurement: Sendable {
    /// Bits per second, including the headers of IP.
    var rate: Double
    /// The median round trip in seconds.
    var roundTrip: Double
    var loss: Double
    /// The number of packets that `loss` refers to.
    var packets: Int

    /// Returns the properties in which the measurement differs too much from the line.
    func deviations(from line: Line) -> [String] {
        var deviations: [String] = []
        if abs(rate / Double(line.rate) - 1) > 0.03 { deviations.append("rate") }
        let delay = roundTrip - line.roundTrip
        if delay < -0.000_05 || delay > 0.001 + 0.02 * line.roundTrip { deviations.append("round trip") }
        // Four standard deviations of a binomial distribution, and one packet.
        let expected = Double(packets) * line.loss
        let tolerance = 1 + 4 * (expected * (1 - line.loss)).squareRoot()
        if abs(loss * Double(packets) - expected) > tolerance { deviations.append("loss") }
        return deviations
    }
}

/// How many packets a relay has carried, in the order of its output.
struct LineStatistics: Sendable, Equatable {
    var carried = 0
    var lost = 0
    /// The packets that did not fit into the queue.
    var dropped = 0
    /// The largest delay beyond that of the line, in seconds.
    var latest = 0.0

    /// Parses one direction in the output of a relay.
    init?(direction: String, in text: String) {
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix(direction + " ") }) else { return nil }
        for word in line.split(separator: " ").dropFirst() {
            let parts = word.split(separator: "=")
            guard parts.count == 2, let number = Int(parts[1]) else { return nil }
            switch parts[0] {
            case "carried": carried = number
            case "lost": lost = number
            case "dropped": dropped = number
            case "latest": latest = Double(number) / 1e9
            default: return nil
            }
        }
    }
}
