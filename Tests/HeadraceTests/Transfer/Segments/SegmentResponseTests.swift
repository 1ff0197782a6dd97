import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Servers that send something else than the requested parts: the file is exact, and the events name the reason.
@Suite(.timeLimit(.minutes(4)))
struct SegmentResponseTests {
    private typealias Fixture = SegmentFixture

    /// Serves another range than the requested one.
    private func shifting(_ change: @escaping @Sendable (Range<Int64>) -> Range<Int64>) -> Response {
        .answering { request in
            guard let requested = request.range(ofSize: Fixture.size) else { return Fixture.paced }
            return .part(change(requested).clamped(to: 0..<Fixture.size), of: Fixture.file)
        }
    }

    @Test func `R27 versions from different connections are never mixed`() async throws {
        let response = Response.answering { request in
            request.index.isMultiple(of: 2) ? .file(Fixture.file) : .file(Fixture.other)
        }
        // When the first version's parts run out, the next response may be the other version, which is then used whole.
        let outcome = try await Fixture.run(first: response, orElse: Fixture.other)
        #expect(outcome.isExact)
        #expect(outcome.fallbacks.first == "The file changed on the server: its entity tag is different.")
    }

    @Test func `R27 a server that ignores If-Range is detected by its tags`() async throws {
        var (file, other) = (Fixture.file, Fixture.other)
        (file.ifRange, other.ifRange) = (.ignored, .ignored)
        let response = Response.answering { [file, other] request in
            request.index.isMultiple(of: 2) ? .file(file) : .file(other)
        }
        let outcome = try await Fixture.run(first: response, orElse: Fixture.other)
        #expect(outcome.isExact)
        #expect(outcome.fallbacks.first == "The file changed on the server: its entity tag is different.")
    }

    @Test func `R27 a file of another length is another version`() async throws {
        let other = Resource(size: Fixture.size + 1, seed: 4, etag: "\"v1\"")
        let outcome = try await Fixture.run(first: .file(other))
        #expect(outcome.isExact)
        #expect(outcome.fallbacks.count == 1)
    }

    @Test func `R27 if the first stream is cut as well, the new version is downloaded from the start`() async throws {
        let response = Response.answering { request in
            request.index == 0 ? Fixture.paced.truncated(after: 1_000_000) : .file(Fixture.other)
        }
        let outcome = try await Fixture.run(response, expecting: Fixture.other)
        #expect(outcome.isExact)
        #expect(outcome.restarts.count == 1)
    }

    @Test func `R25 R26 a server that always sends the whole file gets one connection`() async throws {
        let outcome = try await Fixture.run(first: .whole(Fixture.file))
        #expect(outcome.isExact)
        #expect(outcome.fallbacks.count == 1)
        // Each part is requested once more without If-Range.
        #expect(outcome.requests.count <= 10)
    }

    @Test func `If-Range is left out if it makes the server send the whole file`() async throws {
        var file = Fixture.file
        file.ifRange = .refused
        // Hold the first response until a part is requested without If-Range.
        let gate = try Gate()
        let response = Response.answering { [file] request in
            if request["Range"] != nil, request["If-Range"] == nil { gate.open() }
            return request.index == 0 ? .file(file).held(after: Fixture.size / 8, until: gate) : .file(file)
        }
        let outcome = try await Fixture.run(response, expecting: file)
        #expect(outcome.isExact)
        #expect(outcome.ifRanges.dropFirst().first == "\"v1\"")
        // A request with If-Range that was already in transit may arrive after one without it.
        #expect(zip(outcome.ranges, outcome.ifRanges).contains { $0 != nil && $1 == nil })
        #expect(outcome.fallbacks.isEmpty)
    }

    @Test func `wider ranges are trimmed to the request`() async throws {
        let outcome = try await Fixture.run(shifting { $0.lowerBound - 10_000..<$0.upperBound + 10_000 })
        #expect(outcome.isExact)
        #expect(outcome.fallbacks.isEmpty)
    }

    @Test func `shorter ranges are continued from their end`() async throws {
        let outcome = try await Fixture.run(shifting { $0.lowerBound..<min($0.upperBound, $0.lowerBound + 300_000) })
        #expect(outcome.isExact)
    }

    @Test func `shifted ranges are not used`() async throws {
        let outcome = try await Fixture.run(first: shifting { $0.lowerBound + 1..<$0.upperBound + 1 })
        #expect(outcome.isExact)
        #expect(outcome.fallbacks.count == 1)
    }

    @Test(arguments: [400, 401, 403, 404, 410, 416, 451])
    func `a link that works only once still delivers the whole file`(_ status: Int) async throws {
        let outcome = try await Fixture.run(first: .status(status))
        #expect(outcome.isExact)
        #expect(outcome.fallbacks.count == 1)
        #expect(outcome.requests.count <= 6)
    }

    @Test(arguments: [500, 502, 504])
    func `parts are requested again after a temporary server error`(_ status: Int) async throws {
        let response = Response.answering { (1...3).contains($0.index) ? .status(status) : Fixture.paced }
        let loss = "The server responded with status \(status), "
        let outcome = try await Fixture.run(first: response) {
            if case .connectionClosed(let reason, _) = $0 { "\(reason)".hasPrefix(loss) } else { false }
        }
        #expect(outcome.isExact)
        #expect(outcome.losses.contains { $0.hasPrefix(loss) })
    }

    @Test func `a page instead of a part is never in the file`() async throws {
        let page = Response.ok("<html>Log in</html>").settingHeader("Content-Type", "text/html")
        let outcome = try await Fixture.run(first: page)
        #expect(outcome.isExact)
    }
}

extension RecordedRequest {
    /// The requested bytes; `nil` for the whole file.
    fileprivate func range(ofSize size: Int64) -> Range<Int64>? {
        guard let text = self["Range"]?.dropFirst("bytes=".count) else { return nil }
        let ends = text.split(separator: "-").compactMap { Int64($0) }
        return ends.first.map { $0..<(ends.count > 1 ? ends[1] + 1 : size) }
    }
}
