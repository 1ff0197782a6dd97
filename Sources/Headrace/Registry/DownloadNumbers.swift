/// The short numbers by which users refer to the downloads in a queue, like the job numbers of a shell.
///
/// A download keeps its number until it is removed. The next number is one more than the highest in use, so that the
/// numbers of removed downloads are not reused too soon. Once ``greatest`` is in use, the next number is the lowest
/// free one. In an empty queue, numbering restarts at 1. Consecutive numbers are stored as one range.
struct DownloadNumbers: Sendable {
    /// The greatest number that a download can get; nine digits are short enough to type.
    static let greatest = 999_999_999
    static let valid = 1...greatest

    /// The numbers in use; `RangeSet` of the standard library takes far longer to append a number.
    private var used = ByteRangeSet()

    init() {}

    /// Creates the numbers of a queue in which the given ones, in any order, are in use.
    init(_ numbers: some Sequence<Int>) {
        for number in numbers.sorted() { take(number) }
    }

    /// The number for the next download: one more than the highest in use or, above ``greatest``, the lowest free one.
    var next: Int {
        guard let first = used.ranges.first else { return 1 }
        guard used.end > Self.greatest else { return Int(used.end) }
        return first.lowerBound == 1 ? Int(first.upperBound) : 1
    }

    mutating func take(_ number: Int) { used.insert(Self.range(of: number)) }

    mutating func takeNext() -> Int {
        let next = next
        take(next)
        return next
    }

    mutating func release(_ number: Int) { used.remove(Self.range(of: number)) }

    private static func range(of number: Int) -> Range<Int64> { Int64(number)..<Int64(number) + 1 }
}
