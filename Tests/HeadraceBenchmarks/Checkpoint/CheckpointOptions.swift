/// The options of the verb `checkpoint`.
struct CheckpointOptions: VerbOptions {
    /// A run is killed at a uniformly random time in this range of seconds.
    static let killWindow = 0.2...3.0

    var kills = 20
    var rounds = 5
    var seed = UInt64.random(in: 0...UInt64(UInt32.max))
    var size = 1 << 30
    var rate = 100_000_000
    var costSize = 4 << 30
    var subject: String?
    var directory: String?
    var isJSON = false
    var isStrict = false

    // MARK: The command line

    static let verb = "checkpoint"

    static let about = """
        usage: headrace-bench checkpoint [options]

        Measures the benefit and the cost of resume records. First kills the tool (SIGKILL) at random moments of a
        download with a limited rate, and reports how many seconds of it must be downloaded again. Then compares the
        speed of the tool with and without records; to prevent records, a directory blocks their name.
        """

    static var table: [OptionRow<Self>] {
        [
            .count("--kills", "how often the tool is killed (20), 0 for none", \.kills, atLeast: 0),
            .seed("the random times", \.seed),
            .size("--size", "size of the file with a limited rate, K, M and G allowed (1G)", \.size),
            .size("--rate", "bytes per second (100000000)", \.rate),
            .count("--rounds", "pairs of runs with and without records (5), 0 for none", \.rounds, atLeast: 0),
            .size(
                "--cost-size",
                "size of the file without a limit, which must take well over a second (4G)",
                \.costSize
            ),
            .subject("measure", \.subject),
            .directory(\.directory, isDiskMeasured: true),
            .json(\.isJSON),
            .flag(
                "--strict",
                "exit status 1 if a target is not met: at most 1.2 s per kill, and 1 % of the time",
                \.isStrict
            ),
        ]
    }

    static let notes = """
        exit status: 1 if the tool failed or a file was wrong (or, with --strict, a target was not met)
        """
}
