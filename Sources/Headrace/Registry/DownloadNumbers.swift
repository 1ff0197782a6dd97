/// The short numbers by which users refer to the downloads in a queue, like the job numbers of a shell.
///
/// A download keeps its number until it is removed. The next number is one more than the highest in use. Therefore, a
/// number is not reused while later downloads exist, and numbering restarts at 1 in an empty queue. Consecutive
/// numbers are stored as one range.
struct DownloadNumbers: Sendable {
    /// The greatest number that a download can get; nine digits are short enough to type.
    static let greatest = 999_999_999
    static let valid = 1...greatest

    private var used = RangeSet<Int>()

    init() {}

    /// - Parameter numbers: Numbers in use, in any order.
    init(_ numbers: some Sequence<Int>) {
        for number in numbers.sorted() { take(number) }
    }

    /// The number for the next download.
    var next: Int {
        guard let last = used.ranges.last else { return 1 }
        guard last.upperBound > Self.greatest else { return last.upperBound }
        // The lowest free number.
        guard let first = used.ranges.first, first.lowerBound == 1 else { return 1 }
        return first.upperBound
    }

    mutating func take(_ number: Int) {
        used.insert(contentsOf: number..<number + 1)
    }

    mutating func takeNext() -> Int {
        let next = next
        take(next)
        return next
    }

    mutating func release(_ number: Int) {
        used.remove(contentsOf: number..<number + 1)
    }
}
