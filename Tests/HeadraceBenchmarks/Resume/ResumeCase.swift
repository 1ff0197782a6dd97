/// What a server may answer to a client that has the first half of a file and asks for the rest.
enum ResumeCase: String, Sendable, CaseIterable {
    /// The file has other bytes, of the same length and under another tag; `If-Range` would have told.
    case changed
    /// The same, from a server that does not look at `If-Range`.
    case changedUnnoticed
    /// The whole file where the rest was asked for.
    case whole
    /// A part that begins a thousand bytes before the place that was asked for.
    case early
    /// The rest of other bytes, of which only the total tells.
    case grown
    /// A part, and no word about which.
    case withoutContentRange
    /// The file has other bytes and ends where the client's half does.
    case shrunk
    /// A login page in place of the file.
    case page
    /// Chunks that end in the middle of the rest, without the last one.
    case cutChunks

    static let size = 3_000_000
    /// Where the first answer ends.
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

    /// What the server has before and after the cut; a file that is exactly one of them is right.
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

/// One state of the file on the server.
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
