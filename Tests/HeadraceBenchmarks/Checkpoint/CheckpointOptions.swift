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

        Measures the record that makes a killed download one that is gone on with. First kills the tool (SIGKILL) at
        random moments of a paced download and tells how many seconds of it have to be fetched again. Then races the
        tool, as fast as it goes, against itself with a directory put where it makes its records, so that there are none.
        """

    static var table: [OptionRow<Self>] {
        [
            .count("--kills", "how often the tool is killed (20), 0 for none", \.kills, atLeast: 0),
            .seed("the moments", \.seed),
            .size("--size", "of the file that comes at a pace, K, M and G allowed (1G)", \.size),
            .size("--rate", "a second (100000000)", \.rate),
            .count("--rounds", "pairs of runs with and without records (5), 0 for none", \.rounds, atLeast: 0),
            .size(
                "--cost-size",
                "of the file that comes as fast as it goes, which must take well over a second (4G)",
                \.costSize
            ),
            .subject("measure", \.subject),
            .directory(\.directory, isDiskMeasured: true),
            .json(\.isJSON),
            .flag(
                "--strict",
                "exit status 1 when a target is not met: 1.2 s a kill at the most, 1 % of the time",
                \.isStrict
            ),
        ]
    }

    static let notes = """
        exit status: 1 when the tool failed or a file was wrong (or, with --strict, a target was not met)
        """
}
