import Foundation
import Testing

@testable import Headrace

/// Replays what the fuzzers came upon: their properties hold for each file of the corpora.
@Suite(.timeLimit(.minutes(1)))
struct CorpusTests {
    @Test(arguments: ParserProperty.allCases)
    func `the properties of a parser hold for its corpus`(_ property: ParserProperty) throws {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let folder = tests.appending(path: "HeadraceFuzz/Corpus/\(property.rawValue)")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        #expect(files.count >= 10)
        for file in files {
            let violation = property.violation(of: Array(try Data(contentsOf: file)))
            #expect(violation == nil, "\(file.lastPathComponent)")
        }
    }

    /// The properties are held against parsers that are right; here they have something to find.
    @Test func `the corpora hold what is accepted, and not only what is refused`() throws {
        #expect(ContentRange(parsing: "bytes 0-0/1") != nil)
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let accepts: [ParserProperty: (String) -> Bool] = [
            .contentRange: { ContentRange(parsing: $0) != nil },
            .contentDisposition: { !ContentDisposition(parsing: $0).fileNames.isEmpty },
            .dates: { HTTPDate(parsing: $0) != nil || RetryAfter(parsing: $0, now: nil) != nil },
            .controlRecord: { (try? ControlRecord(decoding: ControlRecord.framed(Array($0.utf8)))) != nil },
        ]
        for (property, accepts) in accepts {
            let folder = tests.appending(path: "HeadraceFuzz/Corpus/\(property.rawValue)")
            let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            let texts = try files.map { String(utf8OrLatin1: Array(try Data(contentsOf: $0))) }
            #expect(texts.contains(where: accepts) && !texts.allSatisfy(accepts), "\(property.rawValue)")
        }
    }
}
