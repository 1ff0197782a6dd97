/// The options of the verb `order`.
struct OrderOptions: VerbOptions {
    /// Enough for a sync during the download, which happens every 64 MiB, and for a record of it.
    var size = 128 << 20
    var rate = 32 << 20
    var subject: String?
    var directory: String?
    var isJSON = false

    // MARK: The command line

    static let verb = "order"

    static let about = """
        usage: headrace-bench order [options]

        Runs a download with --sync under strace, and checks the order of its calls: no record claims bytes before they
        are synced, each record is synced before it takes its name, and the file gets its name after its last byte and a
        record of that are on the disk; then the folder is synced. Says so and is content where there is no strace.
        """

    static var table: [OptionRow<Self>] {
        [
            .size("--size", "of the file, K, M and G allowed (128M)", \.size),
            .size("--rate", "a second (32M)", \.rate),
            .subject("look at", \.subject),
            .directory(\.directory),
            .json(\.isJSON),
        ]
    }

    static let notes = """
        exit status: 1 when a call came too early, or never
        """
}
