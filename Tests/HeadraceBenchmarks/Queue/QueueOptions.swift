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

        Measures the queue of a download manager: time and memory for adding many downloads, with and without a
        registry, and for restoring them; the time of one operation in a short and in a long queue; and the file
        descriptors that many running downloads use. Each measurement runs in its own process.
        """

    static var table: [OptionRow<Self>] {
        [
            .count("--downloads", "length of the long queue (100000); the short one has 1 %", \.downloads),
            .count("--at-once", "downloads at once (1000); the server responds to all together", \.atOnce),
            .directory(\.directory, isDiskMeasured: true),
            .json(\.isJSON),
            .flag("--strict", "exit status 1 if a goal is not met", \.isStrict),
        ]
    }

    static let notes = """
        exit status: 1 if a download failed (or, with --strict, a goal was not met)
        """
}
