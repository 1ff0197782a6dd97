/// The behaviour of a server's connections, written as the first path component of a URL.
///
/// A query would become part of the file name in some tools.
struct Pace: Sendable, Equatable {
    /// The rate of each connection in bytes per second; `nil` for no limit.
    var rate: Int?
    /// Every n-th connection is 32 times slower; `nil` for none.
    var slowEach: Int?
    /// The number, from zero, of the connection that falls silent after 30 % of its range; `nil` for none.
    var silent: Int?
    /// The time from a request to the first byte of its response, in milliseconds.
    var delay: Int?

    /// How many times slower the slow connections are.
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

    /// Returns `nil` if the path component is not a pace.
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

    /// Returns the bytes per second of a connection, numbered from zero among those that were open together.
    func rate(ofConnection number: Int) -> Int? {
        guard let slowEach, number % slowEach == slowEach - 1 else { return rate }
        return rate.map { $0 / Self.slowness }
    }

    /// Returns the number of body bytes that the connection sends; `nil` for all.
    func limit(ofConnection number: Int, of bytes: Int) -> Int? {
        silent == number ? Int(Double(bytes) * Self.silentAfter) : nil
    }
}
