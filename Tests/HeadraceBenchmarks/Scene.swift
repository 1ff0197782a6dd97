/// One situation in which the contenders are compared.
///
/// The table ``all`` is the only place to add one to; a situation that the fields cannot yet say gets a new field.
struct Scene: Sendable {
    let name: String
    /// How the files are carried, in words.
    let summary: String
    var isEncrypted = false
    let payload: Payload
    /// What the subject is held to.
    let targets: [Target]

    /// The files to fetch.
    enum Payload: Sendable, Equatable {
        /// A file of that many bytes.
        case single(Int)
        /// So many files of that many bytes each, at most `parallel` at a time.
        case many(count: Int, each: Int, parallel: Int)

        var totalBytes: Int {
            switch self {
            case .single(let bytes): bytes
            case .many(let count, let each, _): count * each
            }
        }

        /// The same payload with another total, for quick runs; small files become fewer, not smaller.
        func scaled(to bytes: Int) -> Payload {
            switch self {
            case .single: .single(bytes)
            case .many(_, let each, let parallel): .many(count: max(1, bytes / each), each: each, parallel: parallel)
            }
        }

        var description: String {
            switch self {
            case .single(let bytes): Format.size(bytes)
            case .many(let count, let each, let parallel):
                "\(count) files of \(Format.size(each)), \(parallel) at a time"
            }
        }
    }

    static let all: [Scene] = [
        Scene(
            name: "one",
            summary: "HTTP, one connection",
            payload: .single(1 << 30),
            targets: [
                Target(.wall, .ratio(1.0, to: "curl")),
                Target(.cpu, .ratio(1.3, to: "curl")),
                Target(.memory, .atMost(64 * 1_048_576)),
            ]
        ),
        Scene(
            name: "tls",
            summary: "HTTP/1.1 over TLS, one connection",
            isEncrypted: true,
            payload: .single(1 << 30),
            targets: [
                Target(.wall, .ratio(1.05, to: "curl")),
                Target(.cpu, .ratio(1.3, to: "curl")),
                Target(.memory, .atMost(64 * 1_048_576)),
            ]
        ),
        Scene(
            name: "small",
            summary: "HTTP",
            payload: .many(count: 2_000, each: 50_000, parallel: 16),
            targets: [
                Target(.wall, .ratio(1.3, to: "curl")),
                Target(.memory, .atMost(64 * 1_048_576)),
            ]
        ),
    ]
}
