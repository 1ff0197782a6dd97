import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The targets of redirects, and the fields sent to them.
@Suite(.timeLimit(.minutes(4)))
struct RedirectTests {
    private let file = ResumeFixture.old

    private func run(_ routes: [String: Response]) async throws -> ResumeOutcome {
        try await withTemporaryDirectory { try await ResumeFixture.run(.routes(routes), in: $0) }
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func `D01 each redirect is followed, and a retry requests the first URL again`(_ status: Int) async throws {
        let cut = ResumeFixture.cut
        let outcome = try await run([
            "/file.bin": .redirect(status, to: "/there/file.bin"),
            "/there/file.bin": .sequence([.file(file).truncated(after: cut)], then: .file(file)),
        ])
        #expect(outcome.isExact)
        #expect(outcome.requests.map(\.path) == ["/file.bin", "/there/file.bin", "/file.bin", "/there/file.bin"])
        #expect(outcome.resumes == [cut])
    }

    @Test func `D02 a redirect loop ends in an error`() async throws {
        let outcome = try await run(["/file.bin": .redirect(to: "/b"), "/b": .redirect(to: "/file.bin")])
        #expect(outcome.error?.code == .redirect)
        #expect(outcome.requests.count == 21)
        #expect(outcome.names == [])
    }

    @Test(arguments: [
        ("there/file.bin", "/there/file.bin"), ("/a b/file.bin", "/a%20b/file.bin"), ("/x/../file.bin", "/file.bin"),
        ("/ä/file.bin", "/%C3%A4/file.bin"), ("/there/file.bin#part", "/there/file.bin"),
    ])
    func `D03 a Location is resolved and encoded`(_ location: String, _ target: String) async throws {
        try await withTemporaryDirectory { folder in
            let response = Response.answering { request in
                request.index == 0 ? .redirect(to: location) : .file(ResumeFixture.old)
            }
            let outcome = try await ResumeFixture.run(response, in: folder)
            #expect(outcome.isExact)
            #expect(outcome.requests.last?.target == target)
        }
    }

    @Test func `D04 two Location fields are ambiguous`() async throws {
        let outcome = try await run(["/file.bin": .redirect(to: "/a").header("Location", "/b")])
        #expect(outcome.error?.code == .protocolViolation)
        #expect(outcome.requests.count == 1)
    }

    @Test func `D08 dropped credentials are not sent when a redirect returns to the first host`() async throws {
        let back = Locked<String>("")
        let elsewhere = Response.answering { _ in .redirect(to: back.withLock { $0 }) }
        try await withFaultServer(elsewhere) { other in
            let first = Response.routes([
                "/file.bin": .redirect(to: other.url("/x").absoluteString), "/back/file.bin": .ok("hello"),
            ])
            try await withFaultServer(first) { server in
                back.withLock { $0 = server.url("/back/file.bin").absoluteString }
                try await withTemporaryDirectory { folder in
                    try await withDownloadManager { manager in
                        let request = DownloadRequest(
                            server.url("/file.bin"),
                            to: .directory(folder),
                            headers: [
                                HeaderField(name: "Authorization", value: "Bearer s"),
                                HeaderField(name: "X-Api-Key", value: "k", isSecret: true),
                            ]
                        )
                        _ = try await manager.download(request).value
                    }
                }
                #expect(server.requests.map { $0["Authorization"] } == ["Bearer s", nil])
                #expect(server.requests.map { $0["X-Api-Key"] } == ["k", nil])
                #expect(other.requests.map { $0["Authorization"] } == [nil])
                #expect(other.requests.map { $0["X-Api-Key"] } == [nil])
            }
        }
    }

    @Test(arguments: [
        "X-Api-Key", "Private-Token", "X-Auth-Token", "Job-Token", "X-Amz-Security-Token", "X-Goog-Api-Key",
        "X-Vault-Token", "CF-Access-Client-Secret", "X-JFrog-Art-Api", "Referer",
    ])
    func `fields named like secrets stay with their origin unless they are sent everywhere`(_ name: String) async throws
    {
        try await withFaultServer(.ok("hello")) { other in
            try await withFaultServer(.redirect(to: other.url("/x").absoluteString)) { server in
                for isSentToAllOrigins in [false, true] {
                    try await withTemporaryDirectory { folder in
                        try await withDownloadManager { manager in
                            var field = HeaderField(name: name, value: "k")
                            field.isSentToAllOrigins = isSentToAllOrigins
                            let request = DownloadRequest(server.url("/a"), to: .directory(folder), headers: [field])
                            _ = try await manager.download(request).value
                            #expect(!"\(field)".contains("k)") && "\(field)".contains("(not shown)"))
                        }
                    }
                }
                #expect(server.requests.map { $0[name] } == ["k", "k"])
                #expect(other.requests.map { $0[name] } == [nil, "k"])
            }
        }
    }

    @Test func `D13 wrong credentials are sent once`() async throws {
        try await withFaultServer(.status(401, headers: ["WWW-Authenticate": "Basic realm=x"])) { server in
            try await withTemporaryDirectory { folder in
                try await withDownloadManager { manager in
                    let request = DownloadRequest(
                        server.url("/file.bin"),
                        to: .directory(folder),
                        headers: [HeaderField(name: "Authorization", value: "Basic dTpw")]
                    )
                    let error = await #expect(throws: DownloadError.self) {
                        try await manager.download(request).value
                    }
                    #expect(error?.statusCode == 401)
                }
                #expect(server.requests.count == 1)
                #expect(try FileProbe.names(in: folder) == [])
            }
        }
    }

    @Test func `D15 S10 passwords and secret fields never appear in errors, events or records`() async throws {
        try await withTemporaryDirectory { folder in
            let port = Locked<UInt16>(0)
            let response = Response.answering { request in
                request.path == "/file.bin"
                    ? .redirect(to: "http://user:secret@127.0.0.1:\(port.withLock { $0 })/there")
                    : .file(ResumeFixture.old).truncated(after: ResumeFixture.cut)
            }
            try await withFaultServer(response) { server in
                port.withLock { $0 = server.port }
                try await withDownloadManager(.init { $0.retryPolicy.maxFailures = 0 }) { manager in
                    let url = try #require(URL(string: "http://me:secret@127.0.0.1:\(server.port)/file.bin"))
                    let headers = [HeaderField(name: "X-Api-Key", value: "secret", isSecret: true)]
                    let download = try await manager.download(
                        DownloadRequest(url, to: .directory(folder), headers: headers)
                    )
                    let error = await #expect(throws: DownloadError.self) { try await download.value }
                    var told = error.map { "\($0)\n\(String(reflecting: $0))\n" } ?? ""
                    for await event in download.events { told += "\(event)\n" }
                    #expect(told.contains("redirected"))
                    #expect(!told.contains("secret"))
                }
                let names = try FileProbe.names(in: folder)
                #expect(names.count == 2)
                for name in names where name.hasSuffix(RecordFile.suffix) {
                    let record = try FileProbe.bytes(of: folder.appending(path: name))
                    #expect(!String(decoding: record, as: UTF8.self).contains("secret"))
                }
            }
        }
    }

    @Test func `the maximum number of redirects may be zero, but not negative`() throws {
        try DownloadConfiguration { $0.maxRedirects = 0 }.validate()
        let error = #expect(throws: DownloadError.self) {
            try DownloadConfiguration { $0.maxRedirects = -1 }.validate()
        }
        #expect(error?.message == "maxRedirects must be at least zero, not -1.")
    }

    @Test func `S09 a cookie set by a response is not sent`() async throws {
        let outcome = try await run([
            "/file.bin": .redirect(to: "/b/file.bin").header("Set-Cookie", "a=b; Domain=example.org"),
            "/b/file.bin": .file(file),
        ])
        #expect(outcome.isExact)
        #expect(outcome.requests.allSatisfy { $0["Cookie"] == nil })
    }

    @Test(arguments: ["/..%2F..%2Fevil.bin", "/%2e%2e%2fevil.bin", "/x/..%5C..%5Cevil.bin", "/a/%00evil.bin"])
    func `S02 no URL path escapes the folder`(_ path: String) async throws {
        try await withFaultServer(.ok("hello")) { server in
            try await withTemporaryDirectory { outer in
                let folder = outer.appending(path: "folder")
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
                let url = server.url(path)
                try await withDownloadManager { manager in
                    _ = try await manager.download(DownloadRequest(url, to: .directory(folder))).value
                }
                #expect(try FileProbe.names(in: outer) == ["folder"])
                #expect(try FileProbe.names(in: folder).count == 1)
            }
        }
    }
}
