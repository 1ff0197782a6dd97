import Foundation
import Testing

@testable import Headrace

/// Replays the fuzzers' corpora: the parser properties must hold for each file.
@Suite(.timeLimit(.minutes(4)))
struct CorpusTests {
    private func files(of property: ParserProperty) throws -> [(name: String, bytes: [UInt8])] {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let folder = tests.appending(path: "HeadraceFuzz/Corpus/\(property.rawValue)")
        return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .map { ($0.lastPathComponent, Array(try Data(contentsOf: $0))) }
    }

    @Test(arguments: ParserProperty.allCases)
    func `the parser properties hold for the corpus`(_ property: ParserProperty) throws {
        for (name, bytes) in try files(of: property) {
            let violation = property.violation(of: bytes)
            #expect(violation == nil, "\(name)")
        }
    }

    @Test(arguments: ParserProperty.allCases)
    func `a corpus contains accepted and rejected inputs`(_ property: ParserProperty) throws {
        let verdicts = try files(of: property).map { _, bytes in
            let text = String(utf8OrLatin1: bytes)
            return switch property {
            case .contentRange: ContentRange(parsing: text) != nil
            case .contentDisposition: !ContentDisposition(parsing: text).fileNames.isEmpty
            case .dates: HTTPDate(parsing: text) != nil
            case .registry: isRegistry(bytes)
            case .command: (try? RegistryCommand(decoding: RegistryJournal.line(of: bytes))) != nil
            case .checksums: Checksum(text) != nil || (try? ChecksumList(parsing: bytes)) != nil
            case .digests: hasDigest(text)
            case .links: !WebLink.all(in: text).isEmpty
            case .rateSchedule: RateSchedule(text) != nil
            case .metalink: (try? Metalink(parsing: bytes)) != nil
            case .challenges: !Challenge.all(in: text).isEmpty
            case .cookies: isCookie(text)
            case .hsts: (try? HSTSPolicies(parsing: bytes)) != nil
            case .cookieFile: (try? CookieFile.cookies(parsing: bytes)) != nil
            case .netrc: (try? Netrc(parsing: bytes)) != nil
            case .netlink: !NetlinkMessage.all(in: bytes).isEmpty
            case .controlRecord: (try? ControlRecord(decoding: ControlRecord.framed(bytes))) != nil
            }
        }
        #expect(Set(verdicts) == [true, false])
    }

    private func hasDigest(_ text: String) -> Bool {
        guard let url = URL(string: "http://host/file") else { return false }
        let fields = [HeaderField(name: "Repr-Digest", value: text)]
        return !DigestFields(of: ResponseHead(url: url, status: 200, fields: fields)).representation.isEmpty
    }

    private func isCookie(_ text: String) -> Bool {
        let place = URL(string: "http://a.b.example/x/y").flatMap(CookieScope.init)
        return place.flatMap { Cookie(parsing: text, from: $0, at: 0) } != nil
    }

    /// Whether a journal with these payloads is read without diagnostics.
    private func isRegistry(_ payloads: [UInt8]) -> Bool {
        var reader = RegistryReader()
        guard (try? reader.read(ParserProperty.journal(of: payloads))) != nil, (try? reader.finish()) != nil else {
            return false
        }
        return reader.findings == RegistryDiagnostics()
    }
}
