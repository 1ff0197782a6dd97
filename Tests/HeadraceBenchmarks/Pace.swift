/// How fast a server's connections are, written in the query of the address.
struct Pace: Sendable, Equatable {
    /// Bytes per second of each connection.
    var rate: Int
    /// One connection in so many is 32 times slower; nil for none.
    var slowEach: Int?
    /// The number of the connection, from zero, that falls silent for ever after 30 % of its range; nil for none.
    var silent: Int?

    /// By how much the slow ones are slower.
    static let slowness = 32
    private static let silentAfter = 0.3

    init(rate: Int, slowEach: Int? = nil, silent: Int? = nil) {
        self.rate = rate
        self.slowEach = slowEach
        self.silent = silent
    }

    var query: String {
        "?rate=\(rate)" + (slowEach.map { "&slow=\($0)" } ?? "") + (silent.map { "&silent=\($0)" } ?? "")
    }

    /// Nil where the query of a target says nothing of a rate.
    init?(target: some StringProtocol) {
        var values: [Substring: Int] = [:]
        for pair in target.drop(while: { $0 != "?" }).dropFirst().split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            if parts.count == 2, let value = Int(parts[1]) { values[Substring(parts[0])] = value }
        }
        guard let rate = values["rate"], rate > 0 else { return nil }
        self.init(rate: rate, slowEach: values["slow"], silent: values["silent"])
    }

    /// Bytes per second of the connection of a number, from zero, among those that were open together.
    func rate(ofConnection number: Int) -> Int {
        guard let slowEach, number % slowEach == slowEach - 1 else { return rate }
        return rate / Self.slowness
    }

    /// How much of a body the connection sends; nil for all.
    func limit(ofConnection number: Int, of bytes: Int) -> Int? {
        silent == number ? Int(Double(bytes) * Self.silentAfter) : nil
    }
}
