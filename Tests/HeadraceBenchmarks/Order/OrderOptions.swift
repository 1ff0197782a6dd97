/// The options of the verb `order`.
struct OrderOptions: VerbOptions {
    /// Enough for a sync during the download, which happens every 64 MiB, and for a record of it.
    var size = 128 << 20
    var rate = 4 << 20
    var subject: String?
    var directory: String?
    var isJSON = false

    // MARK: The command line

    static let verb = "order"

    static let about = """
        usage: headrace-bench order [options]

        Runs a download with --sync under strace, and checks the order of its system calls: no record claims bytes
        before they are synced, each record is synced before its rename, the file is renamed only after its last byte
        and a record of it are on the disk, and then the directory is synced. Without strace, says so and exits with 0.
        """

    static var table: [OptionRow<Self>] {
        [
            .size("--size", "size of the file, K, M and G allowed (128M)", \.size),
            .size("--rate", "bytes per second (4M)", \.rate),
            .subject("trace", \.subject),
            .directory(\.directory),
            .json(\.isJSON),
        ]
    }

    static let notes = """
        exit status: 1 if a call came too early, or never
        """
}
