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

        Runs `headrace get --limit-rate` over some connections and looks all the time how many bytes its files have.
        Tells how far any five seconds were from the limit, and how much of a processor the tool took, its start included.
        """

    static var table: [OptionRow<Self>] {
        [
            .counts("--rates", "limits in bytes per second (100000,2000000,50000000)", \.rates),
            .counts("--connections", "how many connections share a limit (1,4,16)", \.connections),
            OptionRow("--seconds", "N", "how long each is measured (15), 5 at the least") {
                $0.seconds = max(RatesRun.window, try OptionValue.count($1, "--seconds"))
            },
            .subject("measure", \.subject),
            .directory(\.directory),
            .flag(
                "--strict",
                "exit status 1 when a limit is missed by more than 3 %,\nor takes more than 2 % of a processor at 2 MB/s or less",
                \.isStrict
            ),
            .json(\.isJSON),
        ]
    }
}
