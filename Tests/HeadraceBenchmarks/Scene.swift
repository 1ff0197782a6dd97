/// One situation in which the contenders are compared.
///
/// The table ``all`` is the only place to add one to; a situation that the fields cannot yet say gets a new field.
struct Scene: Sendable {
    let name: String
    /// How the files are carried, in words.
    let summary: String
    var isEncrypted = false
    /// What the server does to its connections; nil for nothing.
    var pace: Pace?
    /// What the tools are told of them.
    var connections = Connections.one
    /// Whether the single file is mostly holes.
    var isSparse = false
    var payload: Payload
    /// The peers that take part, by their names; nil for all.
    var peers: [String]?
    /// However many are asked for.
    var mostRounds: Int?
    /// It is left out where the disk has fewer.
    var leastFreeBytes = 0
    /// What the subject is held to.
    let targets: [Target]

    /// How many connections fetch one file.
    enum Connections: Sendable, Equatable {
        case one
        /// As many as each tool uses where nobody says how many.
        case automatic
        case count(Int)
    }

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
            summary: "10 MiB/s a connection, 16 connections",
            pace: Pace(rate: 10 << 20),
            connections: .count(16),
            payload: .single(100 << 20),
            targets: [Target(.wall, .atMost(1.08 * 100 / 160)), Target(.wall, .ratio(1.0, to: "aria2c"))]
        ),
        Scene(
            name: "paced-auto",
            summary: "10 MiB/s a connection, automatic",
            pace: Pace(rate: 10 << 20),
            connections: .automatic,
            payload: .single(100 << 20),
            targets: [Target(.wall, .ratio(0.8, to: "axel")), Target(.wall, .ratio(0.25, to: "curl"))]
        ),
        Scene(
            name: "slow",
            summary: "8 MiB/s a connection, each third one 32 times slower, 8 connections",
            pace: Pace(rate: 8 << 20, slowEach: 3),
            connections: .count(8),
            payload: .single(64 << 20),
            // Six fast ones and two slow ones together have 48.5 MiB/s.
            targets: [Target(.wall, .atMost(1.4 * 64 / 48.5)), Target(.wall, .ratio(0.5, to: "aria2c"))]
        ),
        Scene(
            name: "silent",
            summary: "8 MiB/s a connection, one of 8 falls silent for ever",
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
            summary: "50 ms to each answer's first byte",
            pace: Pace(delay: 50),
            payload: .many(count: 200, each: 1 << 20, parallel: 16),
            peers: ["curl", "aria2c"],
            // 16 connections wait in 13 rounds, 0.65 s, and the bytes take 0.2 s at 1 GiB/s, which two idle cores carry.
            // Some can come while others wait, so the sum is not the least possible; on a busy machine it is too little,
            // and only the peers tell.
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
