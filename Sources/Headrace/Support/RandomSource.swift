/// A source of random numbers that is shared by all its copies: the system's, or that of a simulation.
struct RandomSource: RandomNumberGenerator, Sendable {
    static let system = RandomSource {
        var system = SystemRandomNumberGenerator()
        return system.next()
    }

    private let number: @Sendable () -> UInt64

    /// Creates a source from a closure that returns the next number.
    init(_ number: @escaping @Sendable () -> UInt64) {
        self.number = number
    }

    func next() -> UInt64 { number() }
}
