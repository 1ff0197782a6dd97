/// The options of the verb `network`.
struct NetworkOptions: VerbOptions {
    /// How long the network is down, in seconds.
    static let absence = 3.0
    /// The maximum number of seconds until a download reports why it waits, and until it resumes.
    static let longestHold = 0.5
    static let longestReturn = 1.0

    var isStrict = false
    var subject: String?
    var directory: String?
    var isJSON = false

    // MARK: The command line

    static let verb = "network"

    static let about = """
        usage: headrace-bench network [options]

        Downloads between two new network namespaces, which no other program sees. Takes the link down at either end for
        \(Format.decimal(absence, places: 0)) seconds, or changes the address. Checks that the tool reported why it
        waited, used no retry, resumed by itself, and has the right file. Needs Linux with ip (iproute2), unshare and
        nsenter, and root or user namespaces; without these, says so and exits with 0.
        """

    static var table: [OptionRow<Self>] {
        [
            .flag("--strict", "exit status 1 if the tool reports or resumes too late", \.isStrict),
            .subject("check", \.subject),
            .directory(\.directory),
            .json(\.isJSON),
        ]
    }

    static let notes = """
        exit status: 1 if a file was wrong or a retry was used (or, with --strict, if it took more than
        \(Format.decimal(longestHold, places: 1)) s to report the wait, or more than
        \(Format.decimal(longestReturn, places: 1)) s to resume)
        """
}
