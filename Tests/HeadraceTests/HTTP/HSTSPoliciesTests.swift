import HeadracePlatform
import Testing

@testable import Headrace

/// The hosts that are requested over https alone (RFC 6797).
@Suite(.timeLimit(.minutes(4)))
struct HSTSPoliciesTests {
    private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    private func policies(
        _ field: String,
        from url: String = "https://a.example/",
        at now: Int64 = 0
    ) throws -> HSTSPolicies {
        var policies = HSTSPolicies()
        policies.store(field, from: try self.url(url), at: now)
        return policies
    }

    /// The examples of RFC 6797, section 6.2, and malformed fields.
    @Test(arguments: [
        ("max-age=31536000", true, false), ("max-age=15768000 ; includeSubDomains", true, true),
        ("max-age=\"31536000\"", true, false), ("includeSubDomains; max-age=1", true, true),
        ("MAX-AGE=1;INCLUDESUBDOMAINS", true, true), (" max-age = 1 ; ; x=\"a;b\"; preload", true, false),
        ("max-age=99999999999999999999", true, false), ("max-age=1;", true, false),
        ("includeSubDomains", false, false), ("max-age", false, false), ("max-age=", false, false),
        ("max-age=-1", false, false), ("max-age=1x", false, false), ("max-age=1; max-age=1", false, false),
        ("max-age=1; includeSubDomains; includesubdomains", false, false), ("max-age=1 2", false, false),
        ("max-age=1, includeSubDomains", false, false), ("=1; max-age=1", false, false), ("", false, false),
    ])
    func `a field is applied as the RFC says, or ignored`(_ field: String, _ isValid: Bool, _ isForBelow: Bool) throws {
        let policies = try policies(field)
        #expect((policies.upgraded(try url("http://a.example/"), at: 0) != nil) == isValid)
        #expect((policies.upgraded(try url("http://c.b.a.example/"), at: 0) != nil) == isForBelow)
        #expect(policies.upgraded(try url("http://example/"), at: 0) == nil)
        #expect(policies.upgraded(try url("http://aa.example/"), at: 0) == nil)
    }

    @Test(
        arguments: [
            ("http://a.example/x?y=%20#z", "https://a.example/x?y=%20#z"), ("http://a.example", "https://a.example"),
            ("http://a.example:80/", "https://a.example/"), ("http://a.example:8080/", "https://a.example:8080/"),
            ("http://A.Example./", "https://A.Example./"), ("HTTP://a.example/", "https://a.example/"),
            ("https://a.example/", nil), ("http://b.example/", nil), ("http://a.example.org/", nil),
        ] as [(String, String?)]
    )
    func `only the scheme and the port 80 are replaced`(_ text: String, _ upgraded: String?) throws {
        let policies = try policies("max-age=10", from: "https://a.EXAMPLE:8443/x")
        #expect(policies.upgraded(try url(text), at: 9)?.absoluteString == upgraded)
        #expect(policies.upgraded(try url(text), at: 10) == nil)
    }

    @Test(arguments: ["http://a.example/", "https://127.0.0.1/", "https://[::1]/"])
    func `a response over http or from an IP address sets nothing`(_ text: String) throws {
        #expect(try policies("max-age=10", from: text).count == 0)
    }

    @Test func `a host's own policy ends with max-age 0, and that of its parent remains`() throws {
        var policies = try policies("max-age=10; includeSubDomains")
        let (parent, child) = (try url("https://a.example/"), try url("https://b.a.example/"))
        policies.store("max-age=5", from: child, at: 0)
        policies.store("max-age=0", from: child, at: 0)
        #expect(policies.upgraded(try url("http://b.a.example/"), at: 0) != nil)
        policies.store("max-age=10", from: parent, at: 0)
        #expect(policies.upgraded(try url("http://b.a.example/"), at: 0) == nil)
        policies.store("max-age=0", from: parent, at: 0)
        #expect(policies.count == 0 && policies.hasChanges)
    }

    @Test func `a full store drops the policy that ends first`() throws {
        var policies = HSTSPolicies()
        for number in 0...HSTSPolicies.maxCount {
            policies.store("max-age=\(number + 10)", from: try url("https://h\(number).example/"), at: 0)
        }
        #expect(policies.count == HSTSPolicies.maxCount)
        #expect(policies.upgraded(try url("http://h0.example/"), at: 0) == nil)
        #expect(policies.upgraded(try url("http://h1.example/"), at: 0) != nil)
        // The file may still have the dropped one.
        var saved = try HSTSPolicies(parsing: "h0.example \"unlimited\"\n".utf8)
        saved.adoptChanges(of: policies, at: 0)
        #expect(saved.count == HSTSPolicies.maxCount + 1)
        #expect(saved.upgraded(try url("http://h0.example/"), at: 0) != nil)
    }

    @Test func `all hosts of a larger file are obeyed, and remain in it`() throws {
        let lines = (0..<HSTSPolicies.maxCount + 500).map { "h\($0).example \"unlimited\"\n" }
        var policies = try HSTSPolicies(parsing: lines.joined().utf8)
        policies.store("max-age=10", from: try url("https://new.example/"), at: 0)
        for name in ["h0", "h\(lines.count - 1)", "new"] {
            #expect(policies.upgraded(try url("http://\(name).example/"), at: 0) != nil)
        }
        var saved = try HSTSPolicies(parsing: lines.joined().utf8)
        saved.adoptChanges(of: policies, at: 0)
        #expect(saved.count == lines.count + 1)
    }

    @Test func `a file is never written larger than one that is read`() throws {
        let end = "\"20380119 03:14:08\"\n"
        let name = String(repeating: "a", count: 200)
        let lines = (0..<HSTSPolicies.maxFileBytes / 230).map { "\(name)\($0).example \(end)" }
        var policies = try HSTSPolicies(parsing: lines.joined().utf8)
        for number in 0..<300 {
            let url = try url("https://new\(number).\(name.prefix(60)).example/")
            policies.store("max-age=99999999999", from: url, at: 0)
        }
        var saved = try HSTSPolicies(parsing: lines.joined().utf8)
        saved.adoptChanges(of: policies, at: 0)
        let text = saved.encoded
        #expect((HSTSPolicies.maxFileBytes - 300...HSTSPolicies.maxFileBytes).contains(text.utf8.count))
        let read = try HSTSPolicies(parsing: text.utf8)
        #expect(read.count < saved.count)
        #expect(read.upgraded(try url("http://new299.\(name.prefix(60)).example/"), at: 0) != nil)
    }

    @Test func `only changes since the last save remain to be saved`() throws {
        var policies = try policies("max-age=10")
        let earlier = policies
        policies.store("max-age=20", from: try url("https://b.example/"), at: 0)
        policies.saved(earlier)
        #expect(policies.hasChanges)
        policies.saved(policies)
        #expect(!policies.hasChanges && policies.count == 2)
    }

    @Test func `changes that are never saved do not accumulate`() throws {
        var policies = HSTSPolicies()
        for number in 0..<2 * HSTSPolicies.maxCount + 100 {
            policies.store("max-age=0", from: try url("https://h\(number).example/"), at: 0)
        }
        #expect(policies.changed.count <= 2 * HSTSPolicies.maxCount)
        #expect(policies.hasChanges)
    }

    // MARK: The file

    private static let file = """
        # Your HSTS cache. https://curl.se/docs/hsts.html
        # This file was generated by libcurl! Edit at your own risk.
        .a.example "20380119 03:14:08"
        b.example "unlimited"

        """

    @Test func `a file of curl is read and written`() throws {
        let policies = try HSTSPolicies(parsing: Self.file.utf8)
        let (end, never) = (Int64(1) << 31, Int64.max - 1)
        #expect(policies.upgraded(try url("http://x.a.example/"), at: end - 1) != nil)
        #expect(policies.upgraded(try url("http://x.a.example/"), at: end) == nil)
        #expect(policies.upgraded(try url("http://b.example/"), at: never) != nil)
        #expect(policies.upgraded(try url("http://x.b.example/"), at: 0) == nil)
        #expect(policies.encoded.hasSuffix("\n.a.example \"20380119 03:14:08\"\nb.example \"unlimited\"\n"))
        #expect(try HSTSPolicies(parsing: policies.encoded.utf8) == policies)
        #expect(!policies.hasChanges)
    }

    @Test(arguments: [
        "a.example.. \"unlimited\"",
        "a.example", "a.example 20380119 03:14:08", "a.example \"20380119\"", "a.example \"20381319 03:14:08\"",
        "a.example \"20380019 03:14:08\"", "a.example \"20380230 03:14:08\"", "a.example \"20380119 24:14:08\"",
        "a.example \"unlimited\" x", "127.0.0.1 \"unlimited\"", "..a \"unlimited\"", "a/b \"unlimited\"", "\u{0}\u{1}",
    ])
    func `a wrong line is named`(_ line: String) throws {
        let error = #expect(throws: DownloadError.self) { try HSTSPolicies(parsing: "# x\n\(line)\n".utf8) }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.hasPrefix("Line 2 of the file is not a host") == true)
    }

    @Test func `changes are merged with what others have saved, and expired hosts dropped`() throws {
        var own = try HSTSPolicies(parsing: Self.file.utf8)
        own.store("max-age=0", from: try url("https://b.example/"), at: 0)
        own.store("max-age=100", from: try url("https://c.example/"), at: 0)
        var saved = try HSTSPolicies(
            parsing: (Self.file + "d.example \"20380119 03:14:08\"\ne.example \"19700101 00:00:01\"\n").utf8
        )
        saved.adoptChanges(of: own, at: 5)
        #expect(
            saved.encoded.split(separator: "\n").dropFirst()
                == [
                    ".a.example \"20380119 03:14:08\"", "c.example \"19700101 00:01:40\"",
                    "d.example \"20380119 03:14:08\"",
                ]
        )
    }
}
