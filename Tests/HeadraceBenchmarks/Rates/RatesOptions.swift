/// The options of the verb `rates`.
struct RatesOptions: VerbOptions {
    var rates = [100_000, 2_000_000, 50_000_000]
    var connections = [1, 4, 16]
    /// How long each limit is measured after the warm-up, in seconds.
    var seconds = 15
    var subject: String?
    var directory: String?
    var isStrict = false
    var isJSON = false

    // MARK: The command line

    static let verb = "rates"

    static let about = """
        usage: headrace-bench rates [options]

        Runs `headrace get --limit-rate` over several connections, and watches the files grow. Reports the largest
        deviation from the limit in any five seconds, and the share of a processor that the tool used, including its
        start.
        """

    static var table: [OptionRow<Self>] {
        [
            .counts("--rates", "limits in bytes per second (100000,2000000,50000000)", \.rates),
            .counts("--connections", "numbers of connections that share a limit (1,4,16)", \.connections),
            OptionRow("--seconds", "N", "duration of each measurement (15), at least 5") {
                $0.seconds = max(RatesRun.window, try OptionValue.count($1, "--seconds"))
            },
            .subject("measure", \.subject),
            .directory(\.directory),
            .flag(
                "--strict",
                "exit status 1 if a rate deviates by more than 3 %,\nor takes more than 2 % of a processor at 2 MB/s or less",
                \.isStrict
            ),
            .json(\.isJSON),
        ]
    }
}
