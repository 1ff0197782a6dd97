/// The options of the verb `torture`.
struct TortureOptions: VerbOptions {
    /// How long an undisturbed response takes: long enough that most kills interrupt one.
    static let secondsPerFile = 3
    /// A run is killed at a uniformly random time in this range of seconds.
    ///
    /// It must extend well past the first record: before that, a run makes no progress that survives.
    static let killWindow = 0.0...2.5

    var kills = 500
    var seed = UInt64.random(in: 0...UInt64(UInt32.max))
    /// The connections of each download; `nil` for the tool's default.
    var connections: Int?
    var jobs = 8
    var subject: String?
    var directory: String?
    var isJSON = false
    private var chosenSize: Int?

    /// The file size, large enough to keep each connection busy.
    var size: Int { chosenSize ?? 3 * (connections ?? 1) << 20 }

    /// The bytes per second of one response.
    var rate: Int { max(1, size / (connections ?? 1) / Self.secondsPerFile) }

    /// The acceptable loss per kill on a server that gives no reason for more.
    ///
    /// A second of bytes, twice what the tool loses: it updates its record every half second.
    var bytesPerKill: Int { max(1 << 20, size / Self.secondsPerFile) }

    // MARK: The command line

    static let verb = "torture"

    static let about = """
        usage: headrace-bench torture [options]

        Downloads files from four built-in servers: a good one, one that cuts connections, one whose files change, and
        one that sends the whole file in response to If-Range. Kills the tool (SIGKILL) at random moments, and starts it
        again until each file is complete. Checks that every file is exactly one version of its source.
        """

    static var table: [OptionRow<Self>] {
        [
            .count("--kills", "how often the tool is killed (500)", \.kills),
            .seed("the times of kills, cuts and changes", \.seed),
            OptionRow(
                "--size",
                "BYTES",
                "size of each file, K, M and G allowed (3M per connection); an undisturbed download takes 3 s"
            ) { $0.chosenSize = try OptionValue.size($1, "--size") },
            OptionRow("--connections", "N", "connections per download (the default of the tool)") {
                $0.connections = try OptionValue.count($1, "--connections")
            },
            .count("--jobs", "downloads at once (8)", \.jobs),
            .subject("torture", \.subject),
            .directory(\.directory),
            .json(\.isJSON),
        ]
    }

    static let notes = """
        exit status: 1 if a file was wrong, unexpected or never complete; if a download restarted although its file had
        not changed and its bytes were recorded; or if the good server sent more than 1.05 times its files plus one
        second of bytes (at least 1 MiB) for each kill. A kill before a download's first record, which is written after
        a second, loses all its bytes; such kills are counted separately
        """
}
