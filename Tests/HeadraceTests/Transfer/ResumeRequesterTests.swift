import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Resuming bytes that another requester downloaded, for whom the server may have another file at the same URL.
@Suite(.timeLimit(.minutes(4)))
struct ResumeRequesterTests {
    private typealias Fixture = ResumeFixture

    private static func dated(_ seed: UInt64) -> Resource {
        Resource(size: Fixture.size, seed: seed, etag: nil)
    }

    private static func field(_ name: String, _ value: String?) -> [HeaderField] {
        value.map { [HeaderField(name: name, value: $0)] } ?? []
    }

    /// Runs a download that is cut, and then the same URL with another value of the header field.
    private func outcome(
        _ name: String,
        _ values: (String?, String?),
        _ first: Resource,
        _ second: Resource
    ) async throws -> ResumeOutcome {
        let response = Response.sequence([.file(first).truncated(after: Fixture.cut)], then: .file(second))
        return try await withTemporaryDirectory { folder in
            try await withFaultServer(response) { server in
                let cut = try await Fixture.run(
                    from: server,
                    in: folder,
                    retries: 0,
                    change: { $0.headers = Self.field(name, values.0) }
                )
                #expect(cut.error != nil)
                return try await Fixture.run(
                    from: server,
                    in: folder,
                    expecting: second,
                    change: { $0.headers = Self.field(name, values.1) }
                )
            }
        }
    }

    @Test(
        arguments: ["Accept-Language", "Cookie", "Authorization"],
        [("a", "b"), (nil, "b"), ("a", nil)] as [(String?, String?)]
    )
    func `a date does not validate bytes requested by another requester`(
        _ name: String,
        _ values: (String?, String?)
    ) async throws {
        let outcome = try await outcome(name, values, Self.dated(1), Self.dated(2))
        #expect(outcome.isExact)
        #expect(outcome.restarts.map(\.bytes) == [Fixture.cut])
        #expect(outcome.restarts.map(\.reason) == [.differentRequester])
    }

    @Test(arguments: ["Accept-Language", "Authorization"])
    func `the same fields resume bytes validated by a date`(_ name: String) async throws {
        let outcome = try await outcome(name, ("a", "a"), Self.dated(1), Self.dated(1))
        #expect(outcome.isExact)
        #expect(outcome.resumes == [Fixture.cut])
    }

    /// The token may be a new one in each run.
    @Test func `an entity tag validates bytes of any requester`() async throws {
        let outcome = try await outcome("Authorization", ("a", "b"), Fixture.old, Fixture.old)
        #expect(outcome.isExact)
        #expect(outcome.resumes == [Fixture.cut])
    }

    /// The download is complete, but another file has taken its name meanwhile.
    @Test(arguments: [true, false], [true, false])
    func `a complete partial file is the result only for its requester`(_ isSame: Bool, hasDigest: Bool) async throws {
        let gate = try Gate()
        let digest = Data(try Checksum(.sha256, of: Pattern(seed: 1).bytes(in: 0..<Fixture.size)).bytes)
        let old = Response.file(Fixture.old)
        let first = (hasDigest ? old.header("Repr-Digest", "sha-256=:\(digest.base64EncodedString()):") : old)
            .held(after: Fixture.cut, until: gate)
        try await withTemporaryDirectory { folder in
            let file = folder.appending(path: "file.bin")
            try await withFaultServer(.sequence([first], then: .file(Fixture.new))) { server in
                let kept = try await Fixture.run(
                    from: server,
                    in: folder,
                    retries: 0,
                    change: {
                        $0.conflictPolicy = .fail
                        $0.headers = Self.field("Accept-Language", "a")
                    },
                    onEvent: { event in
                        guard case .responded = event else { return }
                        #expect((try? Data().write(to: file)) != nil)
                        gate.open()
                    }
                )
                #expect(kept.error?.code == .fileExists)
                try FileManager.default.removeItem(at: file)
                let expected = isSame ? Fixture.old : Fixture.new
                let outcome = try await Fixture.run(
                    from: server,
                    in: folder,
                    expecting: expected,
                    change: { $0.headers = Self.field("Accept-Language", isSame ? "a" : "b") }
                )
                #expect(outcome.isExact)
                #expect(outcome.requests.count == (isSame ? 1 : 2))
            }
        }
    }

    @Test(.enabled(if: RefetchFixture.keepsAttributes), arguments: [("a", "b"), ("b", "b")])
    func `a 304 by date alone is accepted only for the same login`(
        _ first: String,
        _ second: String
    ) async throws {
        var (one, two) = (RefetchFixture.old, RefetchFixture.new)
        (one.etag, two.etag) = (nil, nil)
        let response = Response.answering { [one, two] in $0["Authorization"] == "b" ? .file(two) : .file(one) }
        try await RefetchFixture.run(response) { fixture in
            for login in [first, second] {
                let outcome = try await fixture.fetch { $0.headers = Self.field("Authorization", login) }
                #expect(outcome.error == nil)
            }
            #expect(fixture.holds(two))
            #expect(fixture.conditions.count == (first == second ? 1 : 0))
        }
    }

    @Test func `the fingerprint of a login does not reveal it`() throws {
        var request = DownloadRequest(try #require(URL(string: "http://h/f")), to: .directory(URL(filePath: "/tmp")))
        let configuration = DownloadConfiguration()
        #expect(request.requesterFingerprint(configuration).isEmpty)
        // A hash of 16 bits differs for most logins, but many logins share each hash.
        let count = 2000
        let fingerprints = (0..<count).map { number in
            request.headers = Self.field("Authorization", "secret \(number)")
            return request.requesterFingerprint(configuration)
        }
        #expect((count / 2..<count).contains(Set(fingerprints).count))
    }

    @Test func `logins from netrc files, cookies and certificates identify the requester`() throws {
        let request = DownloadRequest(try #require(URL(string: "https://h/f")), to: .directory(URL(filePath: "/tmp")))
        var askers: Set<String> = [request.requesterFingerprint(DownloadConfiguration())]
        for user in ["a", "b"] {
            let netrc = try Netrc(parsing: "machine h login \(user) password x".utf8)
            askers.insert(request.requesterFingerprint(DownloadConfiguration { $0.netrc = netrc }))
            let jar = CookieJar()
            try jar.add(netscapeFile: "h\tFALSE\t/\tFALSE\t0\tu\t\(user)\n".utf8)
            askers.insert(request.requesterFingerprint(DownloadConfiguration { $0.cookies = jar }))
            let file = URL(filePath: "/tmp/\(user).pem")
            let certificate = ClientCertificate(file: file, key: file)
            askers.insert(request.requesterFingerprint(DownloadConfiguration { $0.clientCertificate = certificate }))
        }
        #expect(askers.count == 7)
    }
}
