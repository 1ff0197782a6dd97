/// The options of the verb `queue`.
struct QueueOptions: VerbOptions {
    var downloads = 100_000
    var atOnce = 1_000
    var directory: String?
    var isJSON = false
    var isStrict = false

    // MARK: The command line

    static let verb = "queue"

    static let about = """
        usage: headrace-bench queue [options]

        Measures the list of a download manager, each part in a process of its own: what many downloads cost when they
        are added, without and with a registry directory, and when they are restored from it; what one verb costs in a
        short list and in a long one; and how many descriptors many downloads take that run at once.
        """

    static var table: [OptionRow<Self>] {
        [
            .count("--downloads", "in the long list (100000); the short one has a hundredth", \.downloads),
            .count("--at-once", "how many run at once (1000), each held by the server until all are there", \.atOnce),
            .directory(\.directory, isDiskMeasured: true),
            .json(\.isJSON),
            .flag("--strict", "exit status 1 when a goal is not met", \.isStrict),
        ]
    }

    static let notes = """
        exit status: 1 when a download failed (or, with --strict, a goal was not met)
        """
}
