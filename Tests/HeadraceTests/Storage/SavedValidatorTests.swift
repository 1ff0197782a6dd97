import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The attribute line with which a finished file saves its validator.
@Suite(.timeLimit(.minutes(4)))
struct SavedValidatorTests {
    private static let dated = Precondition.modifiedSince("Wed, 01 Jan 2025 00:00:00 GMT", place: "0123abcd")
    private let status = FileStatus(kind: .regular, size: 5000, modified: -7, device: 1, inode: 2)

    private func source(_ text: String = "http://h/a?b=c") throws -> URL { try #require(URL(string: text)) }

    private func version(
        _ condition: Precondition = dated,
        requester: RequesterFingerprint? = nil,
        bootID: String? = nil
    ) throws -> SavedValidator {
        SavedValidator(condition, of: try source(), requester: requester, FileStamp(status), bootID: bootID)
    }

    private func requester(_ user: String) throws -> Requester {
        let request = DownloadRequest(
            try source("http://\(user):secret@h/a?b=c"),
            to: .directory(URL(filePath: "/tmp"))
        )
        return Requester(request, at: request.url, nil, DownloadConfiguration())
    }

    private func tag(_ text: String) throws -> Precondition { .noneMatch(try #require(EntityTag(parsing: text))) }

    @Test func `a line is read back as it was written`() throws {
        for condition in [try tag(#""v 1""#.filter { $0 != " " }), try tag(#"W/"""#), Self.dated] {
            for bootID in [nil, "8f5b-1"] {
                for requester in [nil, RequesterFingerprint(try requester("ada"))] {
                    let version = try version(condition, requester: requester, bootID: bootID)
                    #expect(SavedValidator(decoding: try #require(version.encoded)) == version)
                }
            }
        }
    }

    @Test func `the requester of a line is recognized, and each line has its own salt`() throws {
        let ada = try requester("ada")
        let prints = try (0..<2).map { _ in try #require(RequesterFingerprint(ada)) }
        #expect(prints[0] != prints[1])
        for print in prints {
            #expect(print.matches(ada))
            #expect(try !print.matches(requester("bob")))
            #expect(RequesterFingerprint(parsing: print.text) == print)
        }
        let salted = try #require(RequesterFingerprint(ada, salt: 1))
        #expect(salted.text == "0000000000000001b13ae2bc51472c8e")
        let line = try version(tag(#""v1""#), requester: salted)
        #expect(line.encoded == Array("3 0ff462f914f4fa47 \(salted.text) \"v1\"".utf8))
    }

    /// Later releases must read the lines of earlier ones.
    @Test func `the format of a line has not changed`() throws {
        let version = try version(tag(#""v1""#))
        #expect(version.encoded == Array(#"1 0ff462f914f4fa47 "v1""#.utf8))
        let dated = Array("1 0ff462f914f4fa47 0123abcdWed, 01 Jan 2025 00:00:00 GMT".utf8)
        #expect(try self.version().encoded == dated)
    }

    @Test func `a line with a date or the longest usual tag fits in an ext4 inode`() throws {
        let tag = try tag("W/\"" + String(repeating: "0", count: 32) + "\"")
        for condition in [tag, Self.dated] {
            #expect(try #require(try version(condition, bootID: "8f5b-1").encoded).count <= 56)
        }
    }

    @Test(arguments: [
        "", "1", "2 h v1", "5 h \"v1\"", "3 h \"v1\"", "4 h 0123456789abcdef \"v1\"",
        "3 h 0123456789abcdef0123456789abcdeX \"v1\"", "1 h v1", "1 h \"v1\"\r\nX: y", "1 h \"v1\" ", "1 h 5 \"v1\"",
        "1 h now",
        "1 h Wed, 01 Jan 2025 00:00:00 GMT\n", "1  ", "1 h", "1 h ", "\0",
        "1 h \"" + String(repeating: "x", count: 1024) + "\"",
        "1 h 0123abcdThu, 01 Jan 1970 00:00:00 GMT", "1 h Wed, 01 Jan 2025 00:00:00 GMT",
        "1 h 0123abcxWed, 01 Jan 2025 00:00:00 GMT", "1 h 0123abcd Wed, 01 Jan 2025 00:00:00 GMT",
        // Lines as they were before the first release.
        "1 4b0fcd5ea7d2b4a3 5000 -7 tag \"v1\"", "2 8f5b-1 4b0fcd5ea7d2b4a3 5000 -7 tag \"v1\"",
    ])
    func `an invalid line is ignored`(_ text: String) {
        #expect(SavedValidator(decoding: Array(text.utf8)) == nil)
    }

    @Test func `a mutated line yields a field that can be sent, or nothing`() throws {
        var random = SeededRandom(seed: 304)
        let requester = RequesterFingerprint(try requester("ada"))
        let lines = try [version(), version(tag(#""v1""#)), version(requester: requester)].map {
            try #require($0.encoded)
        }
        for index in 0..<4000 {
            var line = lines[index % lines.count]
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                line[Int.random(in: 0..<line.count, using: &random)] = .random(in: 0...255, using: &random)
            }
            try SavedValidator(decoding: line)?.condition.field.validate()
        }
    }

    @Test func `a tag that makes the line too long is not saved`() throws {
        #expect(try version(tag("\"" + String(repeating: "x", count: 1024) + "\"")).encoded == nil)
        #expect(try version(tag("\"" + String(repeating: "x", count: 900) + "\"")).encoded != nil)
    }

    @Test(arguments: ["http://h/a?b=c", "http://user:word@h/a?b=c"])
    func `an unchanged file is the saved version, whoever downloaded it`(_ text: String) throws {
        #expect(try version().matches(status, from: source(text)) { "" })
        var copy = status
        (copy.inode, copy.device, copy.linkCount) = (3, 4, 2)
        #expect(try version().matches(copy, from: source(text)) { "" })
    }

    @Test func `a file that may not be on disk is the saved version only until the next boot`() throws {
        let version = try version(bootID: "8f5b-1")
        #expect(try version.matches(status, from: source()) { "8f5b-1" })
        #expect(try !version.matches(status, from: source()) { "8f5b-2" })
        #expect(try !version.matches(status, from: source()) { throw SystemError(errno: 5) })
    }

    @Test(arguments: ["http://h/a?b=d", "http://h/a", "https://h/a?b=c", "http://g/a?b=c", "http://h/b?b=c"])
    func `a file from another URL is not the saved version`(_ text: String) throws {
        #expect(try !version().matches(status, from: source(text)) { "" })
    }

    @Test func `a file of another size, time, kind or owner is not the saved version`() throws {
        for change: (inout FileStatus) -> Void in [
            { $0.size += 1 }, { $0.modified += 1 }, { $0.kind = .other }, { $0.kind = .link }, { $0.kind = .directory },
            { $0.mode = 0o646 }, { $0.owner = 1 },
        ] {
            var other = status
            change(&other)
            #expect(try !version().matches(other, from: source()) { "" })
        }
    }
}
