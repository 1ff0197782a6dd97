/// The options of the verb `powercut`.
struct PowercutOptions: VerbOptions {
    /// From the first sync, after about a second, until after the end of a download, which takes four seconds.
    ///
    /// A sync is recorded within half a second, so most cuts find a claim.
    static let cutWindow = 1.0...4.5
    /// The bytes per second before the cut, more than the tool leaves unsynced.
    static let rate = 72 << 20
    /// The connections that share the rate.
    static let connections = 4

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

        Downloads with --sync into an ext4 image, and shuts the file system down at a random moment without writing its
        journal, like a power cut. Then checks that every byte that the resume record calls durable is right, resumes
        under another boot ID, and checks the finished file. Needs Linux, root and loop devices; without these, says so
        and exits with 0.
        """

    static var table: [OptionRow<Self>] {
        [
            .count("--cycles", "how often the power is cut (200)", \.cycles),
            .seed("the random times", \.seed),
            .size("--size", "size of each file, K, M and G allowed (288M); the rate is 72 MiB/s", \.size),
            .subject("cut off", \.subject),
            .directory(\.directory),
            .json(\.isJSON),
        ]
    }

    static let notes = """
        exit status: 1 if a record was damaged or claimed missing bytes, if a file was wrong, missing or unexpected, or
        if durable bytes were downloaded again
        """
}
