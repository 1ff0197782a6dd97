/// Hedging: a second connection also fetches the last piece of a slow one, and the first to finish wins.
extension SegmentPart {
    /// How many times slower than its replacement the holder of a last piece must be for it to be fetched twice.
    private static let hedgeFactor = 2.0

    /// Whether the newcomer should fetch this piece a second time, which is too small to divide.
    func isWorthHedging(by newcomer: Worker) -> Bool {
        guard !isDivisible, hedge == nil, holder != nil, workers.count == 1 else { return false }
        let (alone, other) = (timeLeft(workers), timeLeft([newcomer]))
        return alone - other >= Self.minGain && alone >= other * Self.hedgeFactor
    }
}
