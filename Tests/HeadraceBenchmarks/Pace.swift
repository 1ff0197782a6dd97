/// How a server's connections behave, written as the first component of an address's path.
///
/// Not as its query, which would be a part of the file's name to some tools.
struct Pace: Sendable, Equatable {
    /// Bytes per second of each connection; nil for as many as it takes.
    var rate: Int?
    /// One connection in so many is 32 times slower; nil for none.
    var slowEach: Int?
    /// The number of the connection, from zero, that falls silent for ever after 30 % of its range; nil for none.
    var silent: Int?
    /// Milliseconds from a request to the first byte of its answer.
    var delay: Int?

    /// By how much the slow ones are slower.
    static let slowness = 32
    private static let silentAfter = 0.3

    private static let names: [(String, any WritableKeyPath<Pace, Int?> & Sendable)] = [
        ("rate", \.rate), ("slow", \.slowEach), ("silent", \.silent), ("delay", \.delay),
    ]

    init(rate: Int? = nil, slowEach: Int? = nil, silent: Int? = nil, delay: Int? = nil) {
        self.rate = rate
        self.slowEach = slowEach
        self.silent = silent
        self.delay = delay
    }

    var component: String {
        Self.names.compactMap { name, path in self[keyPath: path].map { "\(name)=\($0)" } }.joined(separator: ",")
    }

    /// Nil where the component of a path is another one.
    init?(component: some StringProtocol) {
        self.init()
        for pair in component.split(separator: ",") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, let value = Int(parts[1]), value > 0 || parts[0] == "silent",
                let path = Self.names.first(where: { $0.0 == parts[0] })?.1
            else { return nil }
            self[keyPath: path] = value
        }
    }

    /// Bytes per second of the connection of a number, from zero, among those that were open together.
    func rate(ofConnection number: Int) -> Int? {
        guard let slowEach, number % slowEach == slowEach - 1 else { return rate }
        return rate.map { $0 / Self.slowness }
    }

    /// How much of a body the connection sends; nil for all.
    func limit(ofConnection number: Int, of bytes: Int) -> Int? {
        silent == number ? Int(Double(bytes) * Self.silentAfter) : nil
    }
}
