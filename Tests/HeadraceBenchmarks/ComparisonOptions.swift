/// The options of the comparison.
struct ComparisonOptions: VerbOptions {
    var rounds = 5
    var peers = Peer.all
    var subject: String?
    var size: Int?
    var timeout = 600
    var server = OriginServer.Kind.automatic
    var directory: String?
    var isJSON = false
    var isStrict = false
    private var named: [Scene] = []

    init() {}

    /// The scenes named on the command line, or else all.
    var scenes: [Scene] { named.isEmpty ? Scene.all : named }

    mutating func take(_ argument: String) throws {
        if argument.hasPrefix("-") { throw BenchmarkError.usage("unknown option \(argument)") }
        guard let scene = Scene.all.first(where: { $0.name == argument }) else {
            throw BenchmarkError.usage("unknown scene or verb \(argument)")
        }
        named.append(scene)
    }

    private static func peers(named list: String) throws -> [Peer] {
        try list.split(separator: ",").map { name in
            guard let peer = Peer.all.first(where: { $0.name == name }) else {
                throw BenchmarkError.usage("unknown peer \(name)")
            }
            return peer
        }
    }

    private static func server(named name: String) throws -> OriginServer.Kind {
        guard let kind = OriginServer.Kind(rawValue: name) else {
            throw BenchmarkError.usage("--server is auto, nginx or own, not \(name)")
        }
        return kind
    }

    // MARK: The command line

    static let verb = "compare"

    static var table: [OptionRow<Self>] {
        let peers = Peer.all.map(\.name).joined(separator: ", ")
        return [
            .count("--rounds", "counted rounds, after one warm-up round (5)", \.rounds),
            OptionRow("--peers", "A,B", "some of \(peers) (all that are installed)") {
                $0.peers = try Self.peers(named: $1)
            },
            .subject("measure", \.subject),
            OptionRow(
                "--size",
                "BYTES",
                "total bytes of every scene, K, M and G allowed; small files become fewer, not smaller"
            ) { $0.size = try OptionValue.size($1, "--size") },
            .directory(\.directory, isDiskMeasured: true),
            OptionRow("--server", "KIND", "auto, nginx or own (auto: nginx if it is installed)") {
                $0.server = try Self.server(named: $1)
            },
            OptionRow("--timeout", "S", "maximum duration of one run in seconds (600)") {
                $0.timeout = try OptionValue.count($1, "--timeout")
            },
            .json(\.isJSON),
            .flag("--strict", "exit status 1 if a target is not met", \.isStrict),
        ]
    }

    static var about: String {
        let scenes = Scene.all.map { ($0.name, "\($0.payload.description), \($0.summary)") }
        let verbs = Verb.all.compactMap { verb in verb.summary.map { (verb.name, $0) } }
        return """
            usage: swift run -c release headrace-bench [verb] [options] [scene...]

            Without a verb, downloads the same files with headrace and the installed peers, which take turns, from a
            server on this machine. Checks every byte, and prints the medians of wall time, CPU time and peak memory.

            verbs:
            \(column(verbs))

            scenes (all of them by default):
            \(column(scenes))
            """
    }

    private static func column(_ rows: [(String, String)]) -> String {
        let width = (rows.map(\.0.count).max() ?? 0) + 2
        return rows.map { "  " + $0.padded(to: width) + $1 }.joined(separator: "\n")
    }

    static let notes =
        "exit status: 0 success, 1 a tool failed or a file was wrong (or, with --strict, a target was not met), 2 usage"
}
