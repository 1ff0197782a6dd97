/// A server's response to a client that has the first half of a file and requests the rest.
enum ResumeCase: String, Sendable, CaseIterable {
    /// The file has changed, with the same length and another tag; `If-Range` would detect it.
    case changed
    /// The same, but the server ignores `If-Range`.
    case changedUnnoticed
    /// The whole file instead of the requested rest.
    case whole
    /// A part that begins a thousand bytes before the requested offset.
    case early
    /// The rest of a changed file, which only the complete length reveals.
    case grown
    /// A part without a `Content-Range`.
    case withoutContentRange
    /// The file has changed and ends at the end of the client's half.
    case shrunk
    /// A login page instead of the file.
    case page
    /// Chunks that end in the middle of the rest, without a last chunk.
    case cutChunks

    static let size = 3_000_000
    /// The offset at which the first response is cut.
    static let cut = 1_500_000
    static let loginPage = "<html>Log in.</html>"

    var title: String {
        switch self {
        case .changed: "changed, If-Range honoured"
        case .changedUnnoticed: "changed, If-Range ignored"
        case .whole: "200 to a range"
        case .early: "206 from 1000 bytes before"
        case .grown: "206 whose total grew"
        case .withoutContentRange: "206 without Content-Range"
        case .shrunk: "416, the file shrank"
        case .page: "200, a login page"
        case .cutChunks: "206, chunks without an end"
        }
    }

    /// The versions before and after the cut; a file that equals one of them is right.
    var versions: [ResumeVersion] {
        let old = ResumeVersion(number: 1, size: Self.size, tag: "\"v1\"")
        return switch self {
        case .changed, .changedUnnoticed: [old, ResumeVersion(number: 2, size: Self.size, tag: "\"v2\"")]
        case .grown: [old, ResumeVersion(number: 2, size: Self.size + 5_000, tag: "\"v1\"")]
        case .shrunk: [old, ResumeVersion(number: 2, size: Self.cut, tag: "\"v2\"")]
        case .whole, .early, .withoutContentRange, .page, .cutChunks: [old]
        }
    }
}

/// One version of the file on the server.
struct ResumeVersion: Sendable {
    let number: Int
    let size: Int
    let tag: String

    var content: VersionedContent { VersionedContent(file: 0, version: number) }

    var fields: [String] {
        [
            "ETag: \(tag)", "Last-Modified: Wed, 0\(number) Jan 2025 00:00:00 GMT",
            "Date: Fri, 10 Jan 2025 00:00:00 GMT", "Accept-Ranges: bytes",
        ]
    }
}
