import Foundation
import Testing

/// Every rule for a downloader has a test with its id in the name, or a reason why it has none.
@Suite(.timeLimit(.minutes(4)), .computing)
struct RulesCoverageTests {
    /// The number of rules in each area; an id is the area's letter and a number from 01.
    private static let areas: [(letter: Character, count: Int)] = [
        ("R", 35),  // ranges and resuming
        ("V", 16),  // validators
        ("L", 21),  // length and framing
        ("E", 8),  // encodings
        ("D", 16),  // redirects and credentials
        ("T", 18),  // retries and timeouts
        ("K", 28),  // disk
        ("C", 16),  // concurrency and the queue
        ("X", 7),  // crashes
        ("S", 11),  // security
        ("Z", 6),  // scale
    ]

    /// The rules without a test here.
    ///
    /// `X01` and `X02` have tests of the decisions; the benchmark commands `torture` and `powercut` test real kills and
    /// power cuts.
    private static let leftOut: [String: String] = [
        "V15": "A part is cut short while it comes, as others help with it; the whole has a digest.",
        "T18": "Losing packets takes a packet filter and root; what TCP makes of it is the kernel's.",
        "K21": "There is no older version of the record.",
        "K28": "No space is reserved for a file before its bytes come.",
        "X06": "The list is not kept beyond the process yet.",
        "S04": "Files are opened by path: whoever may swap the parent directories owns the destination.",
        "Z01": "The list is not kept beyond the process yet.",
        "Z05": "The list is not kept beyond the process yet.",
    ]

    private static var allIDs: Set<String> {
        Set(areas.flatMap { area in (1...area.count).map { "\(area.letter)\($0 < 10 ? "0" : "")\($0)" } })
    }

    /// The ids in the names of all tests in the package.
    private func testedIDs() throws -> Set<String> {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let files = try #require(FileManager.default.enumerator(at: tests, includingPropertiesForKeys: nil))
        var ids: Set<String> = []
        for case let file as URL in files where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            for name in text.matches(of: /func `([^`\n]+)`/) {
                // `V12b` is a variant of V12.
                for id in name.1.matches(of: /\b[RVLEDTKCXSZ]\d\d(?=b?\b)/) { ids.insert(String(id.0)) }
            }
        }
        return ids
    }

    @Test func `every rule has a test or a reason`() throws {
        let tested = try testedIDs()
        let leftOut = Set(Self.leftOut.keys)
        let all = Self.allIDs
        #expect(all.count == 182)
        #expect(all.subtracting(tested).subtracting(leftOut).sorted() == [], "neither a test nor a reason")
        #expect(tested.intersection(leftOut).sorted() == [], "both a test and a reason")
        #expect(tested.union(leftOut).subtracting(all).sorted() == [], "no such case")
        print("Cases: \(all.count), tested: \(all.intersection(tested).count), left out: \(leftOut.count)")
    }
}
