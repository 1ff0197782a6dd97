/// SplitMix64: a seeded generator that is fast enough to produce a gigabyte.
struct SplitMix: RandomNumberGenerator, Sendable {
    static let step: UInt64 = 0x9e37_79b9_7f4a_7c15

    private var state: UInt64

    init(seed: UInt64) {
        state = seed &* Self.step
    }

    mutating func next() -> UInt64 {
        state &+= Self.step
        return Self.mixed(state)
    }

    /// Spreads the information in a number over all its bits.
    static func mixed(_ number: UInt64) -> UInt64 {
        var word = number
        word = (word ^ (word >> 30)) &* 0xbf58_476d_1ce4_e5b9
        word = (word ^ (word >> 27)) &* 0x94d0_49bb_1331_11eb
        return word ^ (word >> 31)
    }
}
