extension SegmentPart {
    /// The minimum speed advantage for hedging: a part's own connection would take at least this many times as long as
    /// a new connection to finish the part.
    private static let hedgeFactor = 2.0

    /// Whether hedging is worthwhile: a new connection also fetches this part, and the first copy of each byte is used.
    ///
    /// This is the case if the part is too small to divide, and the new connection would finish it much sooner than the
    /// part's own connection.
    func isWorthHedging(by newcomer: Worker) -> Bool {
        guard !isDivisible, hedge == nil, holder != nil, workers.count == 1 else { return false }
        let (alone, other) = (timeLeft(workers), timeLeft([newcomer]))
        return alone - other >= Self.minGain && alone >= other * Self.hedgeFactor
    }
}
