import HeadracePlatform

/// The options of the verb `queue-kills`.
struct QueueKillsOptions: VerbOptions {
    var kills = 100
    var seed = UInt64.random(in: 0...UInt64(UInt32.max))
    var files = 50
    var size = 4 << 20
    var jobs = 4
    /// The process is killed at a uniformly random time in this many seconds.
    var window = 5.0
    var ratio = 1.3
    var subject: String?
    var directory: String?
    var isJSON = false

    static let leastSize = 1_000

    /// Returns the size of a file, which depends on the seed and is uniformly distributed on a logarithmic scale.
    func size(of file: Int) -> Int {
        var random = SplitMix(seed: seed &+ UInt64(file) &* 1_000_003)
        let span = Double(size) / Double(Self.leastSize)
        return Int(Double(Self.leastSize) * pow(span, Double.random(in: 0...1, using: &random)))
    }

    // MARK: The command line

    static let verb = "queue-kills"

    static let about = """
        usage: headrace-bench queue-kills [options]

        Runs `headrace queue run`, kills it (SIGKILL) at random moments, and starts it again until all files are
        complete; repeats this with new queues until the requested number of kills is reached. After each kill, checks
        that the queue has all downloads in order, and that finished downloads are still finished. At the end, checks
        that all files are exact and that there are no other files.
        """

    static var table: [OptionRow<Self>] {
        [
            .count("--kills", "how often the process is killed (100)", \.kills),
            .seed("the sizes and the times of the kills", \.seed),
            .count("--files", "downloads in the queue (50)", \.files),
            OptionRow("--size", "BYTES", "size of the largest file, K, M and G allowed (4M); the smallest has 1 kB") {
                $0.size = max(leastSize, try OptionValue.size($1, "--size"))
            },
            .count("--jobs", "downloads at once (4)", \.jobs),
            .number(
                "--window",
                "SECONDS",
                "maximum time before a kill (5); the rate is chosen so that the kills cover the whole run",
                \.window
            ),
            .number("--ratio", "R", "how many times the bytes of the files may be downloaded (1.3)", \.ratio),
            .subject("kill", \.subject),
            .directory(\.directory),
            .json(\.isJSON),
        ]
    }

    static let notes = """
        exit status: 1 if a queue or a file was wrong, or more bytes than --ratio allows were downloaded
        """
}
