/// The short numbers by which users refer to the downloads in a queue, like the job numbers of a shell.
///
/// A download keeps its number until it is removed. The next number is one more than the highest in use. Therefore, a
/// number is not reused while downloads with higher numbers exist, and numbering restarts at 1 in an empty queue.
/// Consecutive numbers are stored as one range.
struct DownloadNumbers: Sendable {
    /// The greatest number that a download can get; nine digits are short enough to type.
    static let greatest = 999_999_999
    static let valid = 1...greatest

    /// The highest consecutive numbers in use, which are usually all numbers in use; empty if no number is in use.
    private var highest = 1..<1
    /// The other numbers in use: those below the gap that precedes ``highest``.
    private var lower = RangeSet<Int>()

    init() {}

    /// - Parameter numbers: Numbers in use, in any order.
    init(_ numbers: some Sequence<Int>) {
        for number in numbers.sorted() { take(number) }
    }

    /// The number for the next download: one more than the highest in use or, above ``greatest``, the lowest free one.
    var next: Int {
        guard highest.upperBound > Self.greatest else { return highest.upperBound }
        // The lowest free number.
        let first = lower.ranges.first ?? highest
        return first.lowerBound == 1 ? first.upperBound : 1
    }

    mutating func take(_ number: Int) {
        if highest.isEmpty {
            highest = number..<number + 1
        } else if number == highest.upperBound {
            highest = highest.lowerBound..<number + 1
        } else if number > highest.upperBound {
            lower.insert(contentsOf: highest)
            highest = number..<number + 1
        } else if number < highest.lowerBound {
            lower.insert(contentsOf: number..<number + 1)
            mergeLower()
        }
    }

    mutating func takeNext() -> Int {
        let next = next
        take(next)
        return next
    }

    mutating func release(_ number: Int) {
        guard highest.contains(number) else { return lower.remove(contentsOf: number..<number + 1) }
        lower.insert(contentsOf: highest.lowerBound..<number)
        highest = number + 1..<highest.upperBound
        if highest.isEmpty { mergeLower() }
    }

    /// Moves the last range of ``lower`` to ``highest`` if the two are adjacent, or if ``highest`` is empty.
    private mutating func mergeLower() {
        guard highest.isEmpty || lower.contains(highest.lowerBound - 1) else { return }
        guard let last = lower.ranges.last else { return highest = 1..<1 }
        lower.remove(contentsOf: last)
        highest = last.lowerBound..<(highest.isEmpty ? last.upperBound : highest.upperBound)
    }
}
