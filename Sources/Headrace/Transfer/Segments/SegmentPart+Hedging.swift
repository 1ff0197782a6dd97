/// Hedging: a second connection also fetches the last bytes of a slow one, and the first copy of each byte is used.
extension SegmentPart {
    /// The minimum ratio of a part's remaining time over its connection to that over a new connection, for the new
    /// connection to fetch the part as well.
    private static let hedgeFactor = 2.0

    /// Whether a new connection should fetch this part too, because it is too small to divide and its connection is
    /// slow.
    func isWorthHedging(by newcomer: Worker) -> Bool {
        guard !isDivisible, hedge == nil, holder != nil, workers.count == 1 else { return false }
        let (alone, other) = (timeLeft(workers), timeLeft([newcomer]))
        return alone - other >= Self.minGain && alone >= other * Self.hedgeFactor
    }
}
