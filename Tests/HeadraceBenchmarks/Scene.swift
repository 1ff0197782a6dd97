/// One situation in which the contenders are compared.
///
/// To add one, extend the table ``all``; a situation that the fields cannot express needs a new field.
struct Scene: Sendable {
    let name: String
    /// A short description of the transfer.
    let summary: String
    var isEncrypted = false
    /// The server's pace; `nil` for no limit.
    var pace: Pace?
    /// The number of connections requested from the tools.
    var connections = Connections.one
    /// Whether the single file is mostly holes.
    var isSparse = false
    var payload: Payload
    /// The names of the participating peers; `nil` for all.
    var peers: [String]?
    /// The maximum number of rounds, whatever is requested.
    var mostRounds: Int?
    /// The scene is skipped if the disk has less free space.
    var leastFreeBytes = 0
    /// The bounds for the subject.
    let targets: [Target]

    /// The number of connections per file.
    enum Connections: Sendable, Equatable {
        case one
        /// The default of each tool.
        case automatic
        case count(Int)
    }

    /// The files to download.
    enum Payload: Sendable, Equatable {
        /// A file of that many bytes.
        case single(Int)
        /// `count` files of `each` bytes, at most `parallel` at a time; `nil` for the default of each tool.
        case many(count: Int, each: Int, parallel: Int?)

        var totalBytes: Int {
            switch self {
            case .single(let bytes): bytes
            case .many(let count, let each, _): count * each
            }
        }

        /// Returns the payload with another total, for quick runs; small files become fewer, not smaller.
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
                "\(count) files of \(Format.size(each))" + (parallel.map { ", \($0) at a time" } ?? "")
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
            name: "auto",
            summary: "HTTP, automatic",
            connections: .automatic,
            payload: .single(1 << 30),
            targets: [
                Target(.wall, .ratio(0.85, to: "curl")),
                Target(.cpu, .ratio(1.15, to: "curl")),
                Target(.memory, .atMost(64 * 1_048_576)),
            ]
        ),
        Scene(
            name: "tls-auto",
            summary: "HTTP/1.1 over TLS, automatic",
            isEncrypted: true,
            connections: .automatic,
            payload: .single(1 << 30),
            targets: [
                Target(.wall, .ratioToBest(0.8)),
                Target(.memory, .atMost(64 * 1_048_576)),
            ]
        ),
        Scene(
            name: "paced",
            summary: "10 MiB/s per connection, 16 connections",
            pace: Pace(rate: 10 << 20),
            connections: .count(16),
            payload: .single(100 << 20),
            targets: [Target(.wall, .atMost(1.08 * 100 / 160)), Target(.wall, .ratio(1.0, to: "aria2c"))]
        ),
        Scene(
            name: "paced-auto",
            summary: "10 MiB/s per connection, automatic",
            pace: Pace(rate: 10 << 20),
            connections: .automatic,
            payload: .single(100 << 20),
            targets: [Target(.wall, .ratio(0.8, to: "axel")), Target(.wall, .ratio(0.25, to: "curl"))]
        ),
        Scene(
            name: "slow",
            summary: "8 MiB/s per connection, every third one 32 times slower, 8 connections",
            pace: Pace(rate: 8 << 20, slowEach: 3),
            connections: .count(8),
            payload: .single(64 << 20),
            // Six fast connections and two slow ones together reach 48.5 MiB/s.
            targets: [Target(.wall, .atMost(1.4 * 64 / 48.5)), Target(.wall, .ratio(0.5, to: "aria2c"))]
        ),
        Scene(
            name: "silent",
            summary: "8 MiB/s per connection, one of 8 falls silent forever",
            pace: Pace(rate: 8 << 20, silent: 3),
            connections: .count(8),
            payload: .single(64 << 20),
            targets: [Target(.wall, .atMost(1.3))]
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
        Scene(
            name: "latency",
            summary: "50 ms before each response",
            pace: Pace(delay: 50),
            payload: .many(count: 200, each: 1 << 20, parallel: 16),
            peers: ["curl", "aria2c"],
            // 16 connections need 13 rounds, 0.65 s, and the bytes take 0.2 s at 1 GiB/s, which two idle cores manage.
            // Some bytes arrive while other connections wait, so the sum is no lower bound. On a busy machine it is too
            // strict, and only the comparison with the peers counts.
            targets: [Target(.wall, .atMost(1.05 * (0.65 + 0.2))), Target(.wall, .ratioToBest(1.0))]
        ),
        Scene(
            name: "huge",
            summary: "HTTP, automatic, a sparse file, one round",
            connections: .automatic,
            isSparse: true,
            payload: .single(5 << 30),
            peers: ["curl"],
            mostRounds: 1,
            leastFreeBytes: 12 << 30,
            targets: [Target(.memory, .atMost(64 * 1_048_576))]
        ),
    ]
}
