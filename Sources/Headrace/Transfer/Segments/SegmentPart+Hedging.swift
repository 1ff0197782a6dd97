/// Hedging: a second connection also fetches the last piece of a slow connection; the first copy of each byte is used.
extension SegmentPart {
    /// How many times slower than a new connection the current one must be for its last piece to be fetched twice.
    private static let hedgeFactor = 2.0

    /// Whether a new connection should fetch this piece a second time, because it is too small to divide.
    func isWorthHedging(by newcomer: Worker) -> Bool {
        guard !isDivisible, hedge == nil, holder != nil, workers.count == 1 else { return false }
        let (alone, other) = (timeLeft(workers), timeLeft([newcomer]))
        return alone - other >= Self.minGain && alone >= other * Self.hedgeFactor
    }
}
