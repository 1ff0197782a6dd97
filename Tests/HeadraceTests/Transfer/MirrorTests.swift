import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Downloads with several sources of one file, over real connections.
@Suite(.timeLimit(.minutes(4)))
struct MirrorTests {
    private let file = ResumeFixture.old
    private let other = ResumeFixture.new
    private let cut = ResumeFixture.cut

    private func left(_ outcome: ResumeOutcome) -> [DownloadError] {
        outcome.events.compactMap { if case .sourceFailed(let error, _) = $0 { error } else { nil } }
    }

    @Test(arguments: [403, 404, 410, 500, 503])
    func `a source that refuses is abandoned at once for the next one`(_ status: Int) async throws {
        let outcome = try await ResumeFixture.run(withMirrors: ["/a": .status(status), "/b": .file(file)], retries: 3)
        #expect(outcome.isExact)
        #expect(outcome.requests.map(\.path) == ["/a", "/b"])
        #expect(left(outcome).map(\.statusCode) == [status])
        #expect(left(outcome).first?.url?.path() == "/a")
    }

    @Test func `an unreachable source is abandoned at once for the next one`() async throws {
        try await withFaultServer(.file(file), isListening: false) { silent in
            try await withFaultServer(.file(file)) { mirror in
                try await withTemporaryDirectory { folder in
                    try await withDownloadManager { manager in
                        var request = DownloadRequest(silent.url("/a"), to: .directory(folder))
                        request.mirrors = [mirror.url("/b")]
                        let download = try await manager.download(request)
                        #expect(file.body.difference(fromFileAt: try await download.value) == nil)
                        var failures: [DownloadError.Code] = []
                        for await event in download.events {
                            if case .sourceFailed(let error, _) = event { failures.append(error.code) }
                            if case .retrying = event { Issue.record("\(event)") }
                        }
                        #expect(failures == [.connection])
                    }
                }
            }
        }
    }

    @Test func `a cut source is retried, and the next one continues with the bytes`() async throws {
        let parts = [Response.file(file).truncated(after: cut)]
        let outcome = try await ResumeFixture.run(
            withMirrors: ["/a": .sequence(parts, then: .nothing(by: .fin)), "/b": .file(file)],
            retries: 2
        )
        #expect(outcome.isExact)
        #expect(outcome.requests.map(\.path) == ["/a", "/a", "/a", "/b"])
        #expect(outcome.ranges.last == "bytes=\(cut)-")
        #expect(outcome.resumes.last == cut)
        #expect(outcome.restarts.isEmpty)
    }

    /// The mirror has another tag, another date and no tag, or no validator at all.
    @Test(arguments: [#""v2""#, nil])
    func `a mirror without a matching validator restarts, and versions are never mixed`(_ tag: String?) async throws {
        var other = other
        other.etag = tag
        other.lastModified = nil
        for isHonoured in [true, false] {
            other.ifRange = isHonoured ? .honoured : .ignored
            let outcome = try await ResumeFixture.run(
                withMirrors: ["/a": .file(file).truncated(after: cut), "/b": .file(other)],
                expecting: other
            )
            #expect(outcome.isExact, "\(outcome.events)")
            #expect(outcome.restarts.map(\.bytes) == [cut])
        }
    }

    @Test func `the same date and length on a mirror validate nothing`() async throws {
        var (dated, other) = (file, other)
        dated.etag = nil
        other.etag = nil
        other.lastModified = dated.lastModified
        let outcome = try await ResumeFixture.run(
            withMirrors: ["/a": .file(dated).truncated(after: cut), "/b": .file(other)],
            expecting: other
        )
        #expect(outcome.isExact, "\(outcome.events)")
        #expect(outcome.restarts.map(\.bytes) == [cut])
    }

    @Test func `a mirror's date validates nothing for a later run from the first source`() async throws {
        var (dated, other) = (file, other)
        dated.etag = nil
        other.etag = nil
        let first = Response.sequence([.status(404)], then: .file(dated))
        let mirror = Response.sequence([.file(other).truncated(after: cut)], then: .status(404))
        for isOneManager in [true, false] {
            try await withTemporaryDirectory { folder in
                try await withFaultServer(.routes(["/a": first, "/b": mirror])) { server in
                    var request = DownloadRequest(server.url("/a"), to: .file(folder.appending(path: "file.bin")))
                    request.mirrors = [server.url("/b")]
                    try await withDownloadManager(.init { $0.retryPolicy = .none }) { manager in
                        let download = try await manager.download(request)
                        await #expect(throws: DownloadError.self) { try await download.value }
                        guard isOneManager else { return }
                        await download.resume()
                        let file = try await download.value
                        #expect(dated.body.difference(fromFileAt: file) == nil)
                    }
                    guard !isOneManager else { return }
                    try await withDownloadManager { manager in
                        let file = try await manager.download(request).value
                        #expect(dated.body.difference(fromFileAt: file) == nil)
                    }
                }
            }
        }
    }

    @Test func `downloaded bytes are kept if a mirror cannot replace them`() async throws {
        let last = Response.sequence([.status(503)], then: .file(file))
        let outcome = try await ResumeFixture.run(withMirrors: [
            "/a": .file(file).truncated(after: cut), "/b": .status(404), "/c": .ok("<html>Log in</html>"), "/d": last,
            "/e": .status(410),
        ])
        #expect(outcome.isExact, "\(outcome.events)")
        #expect(outcome.ranges.last == "bytes=\(cut)-")
        #expect(outcome.requests.map(\.path).last == "/d")
    }

    @Test func `if all sources fail, one error names the reason of each`() async throws {
        let outcome = try await ResumeFixture.run(withMirrors: [
            "/a": .status(404), "/b": .nothing(by: .fin), "/c": .status(503),
        ])
        let error = try #require(outcome.error)
        #expect(error.code == .httpStatus)
        for text in ["3 sources", "/a: The server responded with status 404", "/b: ", "/c: ", "503"] {
            #expect(error.message.contains(text), "\(error.message)")
        }
        #expect(outcome.names == [])
        #expect(left(outcome).count == 2)
    }

    @Test(arguments: [true, false])
    func `a wrong file and a missing one fail with the wrong checksum, in either order`(_ isFirst: Bool) async throws {
        let checksum = try Checksum(of: file.body)
        let (wrong, missing) = (Response.file(other), Response.status(404))
        let outcome = try await ResumeFixture.run(
            withMirrors: isFirst ? ["/a": wrong, "/b": missing] : ["/a": missing, "/b": wrong]
        ) {
            $0.checksums = [checksum]
        }
        let error = try #require(outcome.error)
        #expect(error.code == .checksum)
        #expect(error.savedFile?.lastPathComponent == (isFirst ? nil : outcome.names.first))
        #expect(error.message.contains(isFirst ? "The file was deleted" : "It was saved as"))
        #expect(outcome.names.count == (isFirst ? 0 : 1))
    }

    @Test func `a Retry-After is not waited for if a mirror on another host has the file`() async throws {
        let busy = Response.status(503, headers: ["Retry-After": "3600"])
        try await withTemporaryDirectory { folder in
            try await withFaultServer(.routes(["/busy": busy, "/a": .file(file), "/b": .file(file)])) { server in
                try await withDownloadManager { manager in
                    let first = try await manager.download(
                        DownloadRequest(server.url("/busy"), to: .file(folder.appending(path: "busy.bin")))
                    )
                    for await event in first.events {
                        if case .retrying = event { break }
                    }
                    var request = DownloadRequest(server.url("/a"), to: .file(folder.appending(path: "file.bin")))
                    let mirror = server.url("/b").absoluteString.replacing("127.0.0.1", with: "localhost")
                    request.mirrors = [try #require(URL(string: mirror))]
                    let file = try await manager.download(request).value
                    #expect(self.file.body.difference(fromFileAt: file) == nil)
                    #expect(server.requests.map(\.path) == ["/busy", "/b"])
                    await first.cancel()
                }
            }
        }
    }

    @Test func `after a 429 with Retry-After, a mirror on another host is used at once`() async throws {
        let busy = Response.status(429, headers: ["Retry-After": "3600"])
        try await withFaultServer(.file(file)) { other in
            let mirror = other.url("/b").absoluteString.replacing("127.0.0.1", with: "localhost")
            let elsewhere = try #require(URL(string: mirror))
            let outcome = try await ResumeFixture.run(withMirrors: ["/a": busy, "/c": .file(file)]) {
                $0.mirrors = [$0.url.deletingLastPathComponent().appending(path: "c"), elsewhere]
            }
            #expect(outcome.isExact)
            #expect(outcome.requests.map(\.path) == ["/a"])
            #expect(other.requests.map(\.path) == ["/b"])
        }
    }

    @Test func `while a mirror requires a wait, the source that failed before it is requested again`() async throws {
        let origin = Response.sequence([.status(503)], then: .file(file))
        try await withFaultServer(.status(503, headers: ["Retry-After": "3600"])) { other in
            let mirror = other.url("/b").absoluteString.replacing("127.0.0.1", with: "localhost")
            let elsewhere = try #require(URL(string: mirror))
            let outcome = try await ResumeFixture.run(withMirrors: ["/a": origin]) { $0.mirrors = [elsewhere] }
            #expect(outcome.isExact)
            #expect(outcome.requests.map(\.path) == ["/a", "/a"])
            #expect(other.requests.count == 1)
        }
    }

    @Test func `received bytes are kept during a short wait that their host requires`() async throws {
        let busy = Response.status(429, headers: ["Retry-After": "1"])
        let interrupted = Response.sequence([.file(file).truncated(after: ResumeFixture.cut), busy], then: .file(file))
        try await withFaultServer(interrupted) { other in
            let mirror = other.url("/b").absoluteString.replacing("127.0.0.1", with: "localhost")
            let elsewhere = try #require(URL(string: mirror))
            // The first source has another version, and is postponed at once.
            let origin = Response.sequence([.status(503)], then: .file(ResumeFixture.new))
            let outcome = try await ResumeFixture.run(withMirrors: ["/a": origin], retries: 3) {
                $0.mirrors = [elsewhere]
            }
            #expect(outcome.isExact)
            #expect(outcome.requests.map(\.path) == ["/a"])
            let rest = "bytes=\(ResumeFixture.cut)-"
            #expect(other.requests.map { $0["Range"] } == [nil, rest, rest])
        }
    }

    @Test func `D06 a secret field is sent only to the origin of the first source`() async throws {
        try await withFaultServer(.file(file)) { mirror in
            let secret = HeaderField(name: "X-Key", value: "k", isSecret: true)
            let outcome = try await ResumeFixture.run(withMirrors: ["/a": .status(404)]) {
                $0.mirrors = [mirror.url("/m")]
                $0.headers = [secret, HeaderField(name: "X-Open", value: "o")]
            }
            #expect(outcome.isExact)
            #expect(outcome.requests.first?["X-Key"] == "k")
            #expect(mirror.requests.map { $0["X-Key"] } == [nil])
            #expect(mirror.requests.map { $0["X-Open"] } == ["o"])
        }
    }

    @Test func `mirrors that are not http or https URLs are rejected`() async throws {
        let url = try #require(URL(string: "http://h/a"))
        var request = DownloadRequest(url, to: .directory(URL(filePath: "/")))
        for text in ["ftp://h/a", "http:///a", "a"] {
            request.mirrors = [url, try #require(URL(string: text))]
            #expect(throws: DownloadError.self) { try request.validate() }
        }
        request.mirrors = Array(repeating: url, count: 65)
        #expect(throws: DownloadError.self) { try request.validate() }
        request.mirrors.removeLast()
        try request.validate()
    }
}
