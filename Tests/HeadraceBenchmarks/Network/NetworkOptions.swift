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

        Downloads between two network namespaces of its own, which no other program sees, and takes the link away for
        \(Format.decimal(absence, places: 0)) seconds, on this side and on the other, or changes the address. Then checks
        that the tool waited with the reason, spent no retry, went on by itself, and has the file. Needs Linux with ip
        (iproute2), unshare and nsenter, and root or user namespaces; says so and is content where they are missing.
        """

    static var table: [OptionRow<Self>] {
        [
            .flag("--strict", "exit status 1 when a bound was not held", \.isStrict),
            .subject("check", \.subject),
            .directory(\.directory),
            .json(\.isJSON),
        ]
    }

    static let notes = """
        exit status: 1 when a file was wrong or a retry was spent (or, with --strict, when waiting took longer than
        \(Format.decimal(longestHold, places: 1)) s, or going on longer than \(Format.decimal(longestReturn, places: 1)) s)
        """
}
