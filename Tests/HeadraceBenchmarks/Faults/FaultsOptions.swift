/// The options of the verb `faults`.
struct FaultsOptions: VerbOptions {
    /// Runs every n-th pair of a call and a kind of fault; with 4, each call gets one of the four kinds.
    var every = 1
    var jobs = 4
    var only: String?
    var subject: String?
    var directory: String?
    var isJSON = false

    // MARK: The command line

    static let verb = "faults"

    static let about = """
        usage: headrace-bench faults [options]

        Runs downloads with a fault at one file call each: the first, the second, and so on to the last. The call fails
        with EIO or ENOSPC, or the process is killed (SIGKILL) instead. Checks that no file with the final name is
        wrong, and that the next run, without a fault, leaves exactly the right file. After EINTR, the first run must
        succeed. The faults come from a preloaded library, which exists for Linux only.
        """

    static var table: [OptionRow<Self>] {
        [
            .count("--every", "run only every N-th pair of a call and a kind of fault (1); 4 for a short run", \.every),
            .count("--jobs", "downloads at once (4)", \.jobs),
            .text("--scenario", "NAME", FaultScenario.names + " (all)", \.only),
            .subject("break", \.subject),
            .directory(\.directory),
            .json(\.isJSON),
        ]
    }

    static let notes = """
        exit status: 1 if a file was wrong, if the tool crashed or did not report why it failed, or if the next run did
        not leave exactly the right file
        """
}
