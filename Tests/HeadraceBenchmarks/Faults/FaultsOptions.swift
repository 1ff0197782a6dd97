/// The options of the verb `faults`.
struct FaultsOptions: VerbOptions {
    /// Runs every n-th pair of a call and a kind of fault; with 3, each call gets one of the three kinds.
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

        Runs downloads that fail at one file call each: the first, the second, and so on until the last. The call fails
        with EIO or ENOSPC, or the process is killed (SIGKILL) instead of it. Checks that no file with the final name is
        wrong, and that the next run, without a fault, leaves exactly the right file. The faults come from a library
        that is preloaded, on Linux only.
        """

    static var table: [OptionRow<Self>] {
        [
            .count("--every", "only each N-th pair of a call and a kind of fault; 3 for a short run (1)", \.every),
            .count("--jobs", "downloads at once (4)", \.jobs),
            .text("--scenario", "NAME", FaultScenario.names + " (all)", \.only),
            .subject("break", \.subject),
            .directory(\.directory),
            .json(\.isJSON),
        ]
    }

    static let notes = """
        exit status: 1 when a file was wrong, when the tool crashed or did not say why it failed, or when the next run
        did not end with the right file alone
        """
}
