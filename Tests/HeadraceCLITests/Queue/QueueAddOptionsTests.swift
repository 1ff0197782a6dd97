import Headrace
import HeadracePlatform
import Testing

@testable import HeadraceCLI

@Suite(.timeLimit(.minutes(4)))
struct QueueAddOptionsTests {
    private let now = Date(timeIntervalSince1970: 1_000_000)

    private func requests(_ line: [String]) throws -> [DownloadRequest] {
        let options = try QueueAddOptions(ParsedArguments(line), now: now)
        return try options.queued(try options.downloads.requests())
    }

    @Test
    func `options reach every request`() throws {
        let line = [
            "-d", "/d", "--title", "T", "--group=g", "--priority", "-5", "--paused", "--begin", "+1m", "--header",
            "A: b",
            "--if-exists", "skip", "http://h/a", "http://h/b",
        ]
        let requests = try requests(line)
        #expect(requests.map(\.url.absoluteString) == ["http://h/a", "http://h/b"])
        for request in requests {
            #expect(request.destination == .directory(URL(filePath: "/d/")))
            #expect(request.title == "T")
            #expect(request.group == "g")
            #expect(request.priority == DownloadPriority(rawValue: -5))
            #expect(request.startsPaused)
            #expect(request.earliestBegin == now + 60)
            #expect(request.headers == [HeaderField(name: "A", value: "b")])
            #expect(request.conflictPolicy == .skip)
        }
    }

    @Test
    func `without options the request's defaults hold`() throws {
        let request = try #require(try requests(["http://h/a"]).first)
        #expect(request.title == nil && request.group == nil && request.earliestBegin == nil)
        #expect(request.priority == .normal && !request.startsPaused)
        #expect(request.refetchPolicy == .unlessCurrent)
        #expect(try requests(["--if-changed", "http://h/a"]).map(\.refetchPolicy) == [.ifChanged])
    }

    @Test(arguments: [("low", -10), ("normal", 0), ("high", 10), ("0", 0), ("17", 17), ("-3", -3)])
    func `a priority is a word or a number`(_ text: String, value: Int) throws {
        #expect(try requests(["--priority", text, "http://h/"]).map(\.priority.rawValue) == [value])
    }

    @Test(arguments: [
        (
            ["--priority", "urgent"],
            "--priority: \"urgent\" is not low, normal, high or a whole number"
        ),
        (
            ["--header", "authorization: x"],
            "--header: authorization is a secret, which the queue does not store; use headrace get instead"
        ),
        (
            ["--header", "Cookie: a=b"],
            "--header: Cookie is a secret, which the queue does not store; use headrace get instead"
        ),
        (
            ["--header", "Proxy-Authorization: x"],
            "--header: Proxy-Authorization is a secret, which the queue does not store; use headrace get instead"
        ),
        (
            ["http://user:word@h/x"],
            "http://h/x: the URL contains a user name or password, which the queue does not store; use headrace get "
                + "instead"
        ),
        (
            ["--checksum-file", "SUMS", "--proxy", "http://p:1"],
            "--proxy: queue add uses it only to download a --checksum-file URL; pass it to queue run instead"
        ),
    ])
    func `secrets and options without effect are rejected`(_ line: [String], message: String) {
        #expect(throws: UsageError(message)) { try requests(line + ["http://h/a"]) }
    }
}
