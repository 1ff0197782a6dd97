/// A set of byte offsets in a file, as half-open ranges that neither overlap nor touch.
struct ByteRangeSet: Sendable, Hashable {
    /// The ranges in ascending order; none is empty, touches another, or starts below zero.
    private(set) var ranges: [Range<Int64>] = []

    init(_ ranges: some Sequence<Range<Int64>> = []) {
        for range in ranges { insert(range) }
    }

    var isEmpty: Bool { ranges.isEmpty }

    /// The number of bytes in all ranges; cannot overflow, as they are disjoint and not below zero.
    var count: Int64 { ranges.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) } }

    /// The number of contiguous bytes from the start of the file.
    var prefixCount: Int64 { ranges.first.map { $0.lowerBound == 0 ? $0.upperBound : 0 } ?? 0 }

    /// The end of the last range; zero if the set is empty.
    var end: Int64 { ranges.last?.upperBound ?? 0 }

    /// Inserts a range; takes constant time if it starts no earlier than the last range, as when a stream is written.
    mutating func insert(_ range: Range<Int64>) {
        precondition(range.lowerBound >= 0, "a range must not start below zero: \(range)")
        guard !range.isEmpty else { return }
        guard let last = ranges.last, range.lowerBound <= last.upperBound else {
            ranges.append(range)
            return
        }
        guard range.lowerBound < last.lowerBound else {
            ranges[ranges.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
            return
        }
        // Ranges that only touch are merged as well.
        let joined = index { $0.upperBound >= range.lowerBound }..<index { $0.lowerBound > range.upperBound }
        let lower = ranges[joined].first?.lowerBound ?? range.lowerBound
        let upper = ranges[joined].last?.upperBound ?? range.upperBound
        let union = min(lower, range.lowerBound)..<max(upper, range.upperBound)
        ranges.replaceSubrange(joined, with: CollectionOfOne(union))
    }

    mutating func remove(_ range: Range<Int64>) {
        guard !range.isEmpty else { return }
        let touched = overlapping(range)
        guard let first = ranges[touched].first, let last = ranges[touched].last else { return }
        var rest: [Range<Int64>] = []
        if first.lowerBound < range.lowerBound { rest.append(first.lowerBound..<range.lowerBound) }
        if last.upperBound > range.upperBound { rest.append(range.upperBound..<last.upperBound) }
        ranges.replaceSubrange(touched, with: rest)
    }

    /// Removes all offsets from `length` on, as truncating a file to that length does.
    mutating func truncate(to length: Int64) {
        remove(max(0, length)..<Int64.max)
    }

    /// Removes the `count` highest offsets from the set, or all offsets if it has fewer.
    mutating func removeLast(_ count: Int64) {
        var rest = count
        while rest > 0, let last = ranges.last {
            let cut = min(rest, last.upperBound - last.lowerBound)
            truncate(to: last.upperBound - cut)
            rest -= cut
        }
    }

    /// Whether the set contains all bytes of a range; `true` for an empty range.
    func contains(_ range: Range<Int64>) -> Bool {
        guard !range.isEmpty else { return true }
        let holder = index { $0.upperBound >= range.upperBound }
        return holder < ranges.count && ranges[holder].lowerBound <= range.lowerBound
    }

    func isSubset(of other: ByteRangeSet) -> Bool {
        ranges.allSatisfy(other.contains)
    }

    /// Returns the missing parts of a range, in ascending order.
    func gaps(in range: Range<Int64>) -> [Range<Int64>] {
        var gaps: [Range<Int64>] = []
        var start = range.lowerBound
        for held in ranges[overlapping(range)] {
            if start < held.lowerBound { gaps.append(start..<held.lowerBound) }
            start = held.upperBound
        }
        if start < range.upperBound { gaps.append(start..<range.upperBound) }
        return gaps
    }

    /// Returns the first missing range at or after an offset and before an end; `nil` if nothing is missing.
    func firstGap(from offset: Int64, before end: Int64 = .max) -> Range<Int64>? {
        var next = index { $0.upperBound > offset }
        var start = offset
        if next < ranges.count, ranges[next].lowerBound <= offset {
            start = ranges[next].upperBound
            next += 1
        }
        let stop = next < ranges.count ? min(ranges[next].lowerBound, end) : end
        return start < stop ? start..<stop : nil
    }

    func intersection(_ other: ByteRangeSet) -> ByteRangeSet {
        var common = ByteRangeSet()
        var (mine, theirs) = (0, 0)
        while mine < ranges.count, theirs < other.ranges.count {
            let (a, b) = (ranges[mine], other.ranges[theirs])
            common.insert(a.clamped(to: b))
            if a.upperBound < b.upperBound { mine += 1 } else { theirs += 1 }
        }
        return common
    }

    /// Returns the indices of the ranges that overlap a range.
    private func overlapping(_ range: Range<Int64>) -> Range<Int> {
        let first = index { $0.upperBound > range.lowerBound }
        return first..<max(first, index { $0.lowerBound >= range.upperBound })
    }

    /// Returns the index of the first range that satisfies the condition, or `ranges.count`; uses a binary search, so
    /// all ranges after that one must satisfy the condition as well.
    private func index(where condition: (Range<Int64>) -> Bool) -> Int {
        var candidates = 0..<ranges.count
        while !candidates.isEmpty {
            let middle = candidates.lowerBound + candidates.count / 2
            candidates =
                condition(ranges[middle])
                ? candidates.lowerBound..<middle
                : middle + 1..<candidates.upperBound
        }
        return candidates.lowerBound
    }
}

/// Encoded as `[[0,100],[200,300]]`; decoding rejects any other form.
extension ByteRangeSet: Codable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        for pair in try container.decode([[Int64]].self) {
            guard pair.count == 2, pair[0] < pair[1], pair[0] >= 0, ranges.isEmpty || pair[0] > end else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "\(pair) is out of order.")
            }
            ranges.append(pair[0]..<pair[1])
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(ranges.map { [$0.lowerBound, $0.upperBound] })
    }
}
