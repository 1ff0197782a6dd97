import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Logins by Digest, whose source is the same as that of Basic logins.
@Suite(.timeLimit(.minutes(4)))
struct DigestLoginTests {
    /// A server that requires a login by Digest, and replaces its nonce after a number of requests.
    private final class Guard: Sendable {
        private struct State {
            var nonce = 1
            var uses = 0
            var answers: [String] = []
        }

        let algorithm: Checksum.Algorithm
        let usesPerNonce: Int
        /// Whether a request with an earlier nonce is told so.
        let reportsStale: Bool
        /// The number of nonces, of which the last one is never replaced.
        let nonces: Int
        private let state = Locked(State())

        init(
            _ algorithm: Checksum.Algorithm = .sha256,
            usesPerNonce: Int = .max,
            reportsStale: Bool = true,
            nonces: Int = .max
        ) {
            self.algorithm = algorithm
            self.usesPerNonce = usesPerNonce
            self.reportsStale = reportsStale
            self.nonces = nonces
        }

        /// The nonce and the count of each accepted request.
        var answers: [String] { state.withLock { $0.answers } }

        func response(_ response: Response, offersBasic: Bool = true) -> Response {
            .answering { [self] request in
                let refusal = refusal(of: request)
                guard let refusal else { return response }
                let basic = offersBasic ? "Basic realm=\"files\", " : ""
                return .status(401, headers: ["WWW-Authenticate": basic + refusal])
            }
        }

        /// Returns the challenge for a request without the login `user` and `pass:word`; `nil` if it has this login.
        private func refusal(of request: RecordedRequest) -> String? {
            state.withLock { state in
                let present = "n\(state.nonce)"
                let name = algorithm == .md5 ? "MD5" : "SHA-256"
                func challenge(isStale: Bool) -> String {
                    "Digest realm=\"a, b\", qop=\"auth\", algorithm=\(name), nonce=\"n\(state.nonce)\""
                        + (isStale ? ", stale=true" : "")
                }
                let answer = Challenge.all(in: request["Authorization"] ?? "").first { $0.scheme == "digest" }
                guard let answer else { return challenge(isStale: false) }
                let values = answer.parameters
                func hash(_ text: String) -> String { (try? Digester.hexadecimal(algorithm, of: text)) ?? "" }
                let (nonce, count) = (values["nonce"] ?? "", values["nc"] ?? "")
                let end = hash("\(request.method):\(request.target)")
                let middle = "\(nonce):\(count):\(values["cnonce"] ?? ""):auth"
                let right = hash("\(hash("user:a, b:pass:word")):\(middle):\(end)")
                guard values["response"] == right, values["username"] == "user", values["uri"] == request.target else {
                    return challenge(isStale: false)
                }
                guard nonce == present else { return challenge(isStale: reportsStale) }
                guard state.uses < usesPerNonce || state.nonce == nonces else {
                    state.nonce += 1
                    state.uses = 0
                    return challenge(isStale: reportsStale)
                }
                state.uses += 1
                state.answers.append("\(nonce) \(count)")
                return nil
            }
        }
    }

    private static let login = Credential.login(user: "user", password: "pass:word")

    /// The scheme of the login of each request; `nil` for none.
    private func schemes(_ server: FaultServer) -> [String?] {
        server.requests.map { $0["Authorization"].map { String($0.prefix { $0 != " " }) } }
    }

    @Test(arguments: ["closure", "netrc", "URL", "field"])
    func `a login is sent by Digest from the first challenge on, wherever it is from`(_ source: String) async throws {
        let gate = Guard()
        try await withFaultServer(gate.response(.ok("hello"))) { server in
            try await withTemporaryDirectory { folder in
                let netrc = try Netrc(parsing: "machine 127.0.0.1 login user password pass:word".utf8)
                let configuration = NetworkFixture.configuration {
                    if source == "closure" { $0.credentials = { _ in Self.login } }
                    if source == "netrc" { $0.netrc = netrc }
                }
                try await withDownloadManager(configuration) { manager in
                    for path in ["/a?b=c", "/d%20e"] {
                        let url = server.url(path)
                        let outcome = try await NetworkFixture.run(
                            source == "URL" ? url.with(login: "user:pass%3Aword") : url,
                            headers: source == "field" ? [Self.login.field] : [],
                            in: manager,
                            folder
                        )
                        #expect(outcome.bytes == Array("hello".utf8), "\(outcome.log)")
                    }
                }
            }
            #expect(schemes(server) == [source == "closure" ? nil : "Basic", "Digest", "Digest"])
        }
        #expect(gate.answers == ["n1 00000001", "n1 00000002"])
    }

    @Test func `a login for Digest is not sent by Basic after its session was dropped`() async throws {
        let base = FakeTransport { request in
            let answer = request.fields["Authorization"] ?? ""
            let challenge = [("WWW-Authenticate", "Basic realm=x"), ("WWW-Authenticate", "Digest realm=x, nonce=y")]
            return answer.hasPrefix("Digest") ? FakeTransport.Reply() : FakeTransport.Reply(401, fields: challenge)
        }
        let configuration = NetworkFixture.configuration { $0.credentials = { _ in Self.login } }
        let transport = try SessionTransport(base, configuration, environment: [:])
        let url = try #require(URL(string: "http://a.example/"))
        for _ in 0..<2 {
            let status = try await transport.perform(TransportRequest(url: url)) { head, _ in head.status }
            #expect(status == 200)
            let challenge = try #require(DigestChallenge.strongest(of: Challenge.all(in: "Digest realm=x, nonce=z")))
            for port in 1...3000 {
                _ = transport.digests.challenged(try #require(URL(string: "http://b.example:\(port)/")), by: challenge)
            }
            #expect(!transport.digests.isKnown(url))
        }
        let answers = base.requests.map { $0.fields["Authorization"]?.prefix { $0 != " " } ?? "" }
        #expect(answers == ["", "Digest", "", "Digest"])
    }

    @Test func `the closure learns that the server accepts Digest, and its login is not sent by Basic`() async throws {
        let requests = Locked<[CredentialRequest]>([])
        try await withFaultServer(Guard(.md5).response(.ok("hello"))) { server in
            let outcome = try await NetworkFixture.run(server.url("/a")) {
                $0.credentials = { request in
                    requests.withLock { $0.append(request) }
                    return Self.login
                }
            }
            #expect(outcome.bytes == Array("hello".utf8), "\(outcome.log)")
            #expect(schemes(server) == [nil, "Digest"])
        }
        #expect(requests.withLock { $0.map(\.schemes) } == [[.basic, .digest]])
    }

    @Test(arguments: [true, false])
    func `a nonce that expires amid several connections costs no bytes and no question`(_ isReported: Bool) async throws
    {
        let gate = Guard(usesPerNonce: 2, reportsStale: isReported, nonces: isReported ? .max : 2)
        let questions = Locked(0)
        try await withFaultServer(gate.response(SegmentFixture.paced, offersBasic: false)) { server in
            try await withTemporaryDirectory { folder in
                let configuration = NetworkFixture.configuration {
                    $0.maxConnectionsPerDownload = 6
                    $0.credentials = { _ in
                        questions.withLock { $0 += 1 }
                        return Self.login
                    }
                }
                try await withDownloadManager(configuration) { manager in
                    let request = DownloadRequest(server.url("/file.bin"), to: .directory(folder))
                    let file = try await manager.download(request).value
                    #expect(SegmentFixture.file.body.difference(fromFileAt: file) == nil)
                }
            }
        }
        #expect(questions.withLock { $0 } == 1)
        #expect(gate.answers.count > 2)
        #expect(Set(gate.answers).count == gate.answers.count)
        #expect(Set(gate.answers.map { $0.prefix { $0 != " " } }).count > 1)
    }

    @Test func `a wrong password is requested once more and sent once`() async throws {
        let refused = Locked<[Bool]>([])
        try await withFaultServer(Guard().response(.ok("hello"))) { server in
            let outcome = try await NetworkFixture.run(server.url("/a")) {
                $0.credentials = { request in
                    refused.withLock { $0.append(request.refused != nil) }
                    return .login(user: "user", password: "wrong")
                }
            }
            #expect(outcome.error?.statusCode == 401)
            #expect(schemes(server) == [nil, "Digest"])
        }
        #expect(refused.withLock { $0 } == [false, true])
        try await withFaultServer(Guard().response(.ok("hello"))) { server in
            let outcome = try await NetworkFixture.run(server.url("/a").with(login: "user:wrong"))
            #expect(outcome.error?.statusCode == 401)
            #expect(schemes(server) == ["Basic", "Digest"])
        }
    }

    @Test func `a nonce that is always too old ends with the 401`() async throws {
        try await withFaultServer(Guard(usesPerNonce: 0).response(.ok("hello"))) { server in
            let outcome = try await NetworkFixture.run(server.url("/a")) { $0.credentials = { _ in Self.login } }
            #expect(outcome.error?.statusCode == 401)
            #expect(server.requests.count == 5)
        }
    }

    @Test func `after a Digest challenge a login is never sent by Basic`() async throws {
        let gate = Guard()
        let basic = Response.answering { request in
            let isBasic = request["Authorization"]?.hasPrefix("Basic") == true
            return isBasic ? .ok("hello") : .status(401, headers: ["WWW-Authenticate": "Basic realm=x"])
        }
        let routes: [String: Response] = ["/a": gate.response(.ok("hello")), "/b": basic]
        try await withFaultServer(.routes(routes)) { server in
            try await withTemporaryDirectory { folder in
                let configuration = NetworkFixture.configuration { $0.credentials = { _ in Self.login } }
                try await withDownloadManager(configuration) { manager in
                    let first = try await NetworkFixture.run(server.url("/a"), in: manager, folder)
                    #expect(first.error == nil)
                    for url in [server.url("/b"), try server.url("/b").with(login: "user:p")] {
                        let outcome = try await NetworkFixture.run(url, in: manager, folder)
                        #expect(outcome.error?.statusCode == 401)
                    }
                }
            }
            #expect(!schemes(server).contains("Basic"))
        }
    }

    @Test func `S06 a user name with a line break is not sent`() async throws {
        try await withFaultServer(Guard().response(.ok("hello"))) { server in
            let outcome = try await NetworkFixture.run(server.url("/a").with(login: "u%0D%0AX%3A%20y:p"))
            #expect(outcome.error?.code == .invalidRequest)
            #expect(schemes(server) == ["Basic"])
        }
    }

    @Test func `a challenge with an unknown hash function is named in the error`() async throws {
        let challenge = "Digest realm=x, nonce=y, algorithm=SHA-512-256, qop=auth"
        try await withFaultServer(.status(401, headers: ["WWW-Authenticate": challenge])) { server in
            let outcome = try await NetworkFixture.run(server.url("/a")) { $0.credentials = { _ in Self.login } }
            #expect(outcome.error?.message.contains("by digest, which is not supported") == true)
            #expect(schemes(server) == [nil])
        }
    }
}
