/// The options of the verb `powercut`.
struct PowercutOptions: VerbOptions {
    /// From the first sync, after about a second, until after the end of a download, which takes four seconds.
    ///
    /// A sync is recorded within half a second, so most cuts find a claim.
    static let cutWindow = 1.0...4.5
    /// The bytes per second before the cut, more than the tool leaves unsynced.
    static let rate = 72 << 20

    var cycles = 200
    var seed = UInt64.random(in: 0...UInt64(UInt32.max))
    var size = 288 << 20
    var subject: String?
    var directory: String?
    var isJSON = false

    // MARK: The command line

    static let verb = "powercut"

    static let about = """
        usage: headrace-bench powercut [options]

        Downloads with --sync into a file system of its own, an ext4 image, and shuts that down at a random moment
        without writing its log, which is what a power cut does. Then checks that every byte that the download's record
        calls durable is there and right, goes on under another boot id, and checks the finished file. Needs Linux, root
        and loop devices; says so and is content where they are missing.
        """

    static var table: [OptionRow<Self>] {
        [
            .count("--cycles", "how often the power is cut (200)", \.cycles),
            .seed("the moments", \.seed),
            .size("--size", "of each file, K, M and G allowed (288M); it comes with 72 MiB/s", \.size),
            .subject("cut off", \.subject),
            .directory(\.directory),
            .json(\.isJSON),
        ]
    }

    static let notes = """
        exit status: 1 when a record claimed what was not there or was damaged, when a file was wrong, gone or left
        over, or when durable bytes were fetched again
        """
}
