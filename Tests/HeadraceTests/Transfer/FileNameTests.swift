import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The name of a file, from the response to the disk.
@Suite(.timeLimit(.minutes(4)))
struct FileNameTests {
    private static let body = Response.Body.pattern(size: 1000)

    private func run(
        _ response: Response,
        path: String = "/a/from-url.bin",
        to destination: (URL) -> DownloadRequest.Destination = { .directory($0) },
        _ policy: DownloadRequest.ConflictPolicy = .rename,
        existing: [String] = []
    ) async throws -> (error: DownloadError?, names: [String]) {
        try await withFaultServer(response) { server in
            try await withTemporaryDirectory { parent in
                // Use a nested folder, so that a name that leads out of it is noticed.
                let folder = parent.appending(path: "in/deep/")
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                for name in existing { try Data("old".utf8).write(to: folder.appending(path: name)) }
                return try await withDownloadManager { manager in
                    let download = try await manager.download(
                        DownloadRequest(server.url(path), to: destination(folder), conflictPolicy: policy)
                    )
                    var failure: DownloadError?
                    do {
                        let file = try await download.value
                        #expect(file.deletingLastPathComponent().path == folder.path)
                    } catch let error as DownloadError {
                        failure = error
                    }
                    #expect(try FileProbe.names(in: parent) == ["in"])
                    #expect(try FileProbe.names(in: parent.appending(path: "in")) == ["deep"])
                    return (failure, try FileProbe.names(in: folder))
                }
            }
        }
    }

    private func disposition(_ value: String) -> Response {
        .ok(Self.body).header("Content-Disposition", value)
    }

    @Test(arguments: [
        (#"attachment; filename="../../x""#, "x"), (#"attachment; filename="/etc/x""#, "x"),
        ("attachment; filename=..\\..\\x", "x"), (#"attachment; filename="..\\..\\x""#, "x"),
        ("attachment; filename=%2e%2e%2f", "from-url.bin"), ("attachment; filename=%2e%2e%2fx", "x"),
        ("attachment; filename*=UTF-8''..%2Fx", "x"), ("attachment; filename*=UTF-8''a%00b", "ab"),
        ("attachment; filename*=UTF-8''a%0D%0Ab", "ab"), ("attachment; filename=.", "from-url.bin"),
        (#"attachment; filename="..""#, "from-url.bin"), (#"attachment; filename="""#, "from-url.bin"),
        ("attachment; filename=-rf", "rf"), ("attachment; filename=~", "from-url.bin"),
        ("attachment; filename=CON", "_CON"), ("attachment; filename*=UTF-8''a%E2%80%AEgpj.exe", "agpj.exe"),
        (#"attachment; filename="x";"#, "x"), ("attachment; filename=.bashrc", "bashrc"),
        ("attachment; filename*=UTF-8''in%2F%CC%81x", "\u{301}x"), ("attachment", "from-url.bin"),
        ("attachment; filename*=UTF-8''%E6%97%A5.txt; filename=day.txt", "日.txt"), ("inline; filename=größe", "größe"),
    ])
    func `S01 any name proposed by a server becomes one safe name in the directory`(
        _ value: String,
        _ name: String
    ) async throws {
        let (error, names) = try await run(disposition(value))
        #expect(error == nil)
        #expect(names == [name])
    }

    @Test func `S01 K25 a proposed name of 10 KiB becomes a name of 255 bytes`() async throws {
        let value = "attachment; filename=\"" + String(repeating: "n", count: 10 << 10) + ".tar.gz\""
        let (error, names) = try await run(disposition(value))
        #expect(error == nil)
        #expect(names == [String(repeating: "n", count: 248) + ".tar.gz"])
    }

    @Test func `S01 a NUL in Content-Disposition makes the response invalid`() async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Disposition: attachment; filename=a\0b\r\n\r\nx"
        let (error, names) = try await run(.raw(.bytes(Array(head.utf8))))
        #expect(error?.code == .protocolViolation)
        #expect(names == [])
    }

    @Test(arguments: [
        ("/..%2F..%2Fx", "x"), ("/%2e%2e", "download"), ("/a/", "download"), ("/a%5C..%5Cb", "b"), ("/%00", "download"),
        ("/-rf", "rf"), ("/caf%E9.txt", "café.txt"), ("/a%0d%0ab", "ab"), ("/x%2F%CC%81y", "\u{301}y"),
    ])
    func `S02 no URL path escapes the directory`(_ path: String, _ name: String) async throws {
        let (error, names) = try await run(.ok(Self.body), path: path)
        #expect(error == nil)
        #expect(names == [name])
    }

    @Test func `a redirect's Content-Disposition is ignored, that of the final response counts`() async throws {
        let response = Response.routes([
            "/a": .redirect(to: "/b").header("Content-Disposition", "attachment; filename=wrong"),
            "/b": disposition("attachment; filename=right"),
        ])
        #expect(try await run(response, path: "/a").names == ["right"])
    }

    @Test func `a file name chosen by the caller takes precedence`() async throws {
        let response = disposition("attachment; filename=told")
        #expect(try await run(response, to: { .file($0.appending(path: "mine")) }).names == ["mine"])
    }

    @Test func `a proposed name that is taken gets a number before its extension`() async throws {
        let response = disposition("attachment; filename*=UTF-8''%CC%81a.txt")
        let (error, names) = try await run(response, existing: ["\u{301}a.txt", "from-url.bin"])
        #expect(error == nil)
        #expect(names == ["from-url.bin", "\u{301}a (1).txt", "\u{301}a.txt"])
    }

    @Test func `the first free number is used, and a double extension stays whole`() async throws {
        let existing = ["a.tar.gz", "a (1).tar.gz", "a (3).tar.gz"]
        let (error, names) = try await run(.ok(Self.body), path: "/a.tar.gz", existing: existing)
        #expect(error == nil)
        #expect(names == ["a (1).tar.gz", "a (2).tar.gz", "a (3).tar.gz", "a.tar.gz"])
    }

    @Test(arguments: [(DownloadRequest.ConflictPolicy.skip, nil), (.fail, DownloadError.Code.fileExists)])
    func `K23 an existing file is not replaced if the conflict policy is skip or fail`(
        _ policy: DownloadRequest.ConflictPolicy,
        _ code: DownloadError.Code?
    ) async throws {
        let (error, names) = try await run(disposition("attachment; filename=told"), policy, existing: ["told"])
        #expect(error?.code == code)
        #expect(names == ["told"])
    }

    /// The second response proposes another name, as servers do that put the time into it.
    @Test func `a resumed download keeps the file name of its first response`() async throws {
        let first = Response.file(ResumeFixture.old).header("Content-Disposition", "attachment; filename=first")
        let second = Response.file(ResumeFixture.old).header("Content-Disposition", "attachment; filename=second")
        let cuts = [first.truncated(after: ResumeFixture.cut), second.truncated(after: 50_000), .status(404)]
        try await withFaultServer(.sequence(cuts, then: second)) { server in
            try await withTemporaryDirectory { folder in
                // The download resumes once within this run, and once in the next run, from the resume record.
                let stopped = try await ResumeFixture.run(from: server, in: folder)
                #expect(stopped.error?.code == .httpStatus)
                #expect(stopped.resumes == [ResumeFixture.cut])
                let outcome = try await ResumeFixture.run(from: server, in: folder)
                #expect(outcome.error == nil)
                #expect(outcome.resumes == [ResumeFixture.cut + 50_000])
                #expect(outcome.names == ["first"])
                #expect(ResumeFixture.old.body.difference(fromFileAt: folder.appending(path: "first")) == nil)
            }
        }
    }

    @Test func `a download restarted for a new version takes the name from its response`() async throws {
        let first = Response.file(ResumeFixture.old).header("Content-Disposition", "attachment; filename=v1")
        let second = Response.file(ResumeFixture.new).header("Content-Disposition", "attachment; filename=v2")
        let response = Response.sequence([first.truncated(after: ResumeFixture.cut)], then: second)
        try await withTemporaryDirectory { folder in
            let outcome = try await ResumeFixture.run(response, in: folder)
            #expect(outcome.error == nil)
            #expect(outcome.names == ["v2"])
            #expect(ResumeFixture.new.body.difference(fromFileAt: folder.appending(path: "v2")) == nil)
        }
    }
}
