/// What the look at the system calls was asked to be.
struct OrderOptions: Sendable {
    /// Enough for a sync on the way, which comes after 64 MiB, and for a record that tells of it.
    var size = 128 << 20
    var rate = 32 << 20
    var subject: String?
    var directory: String?
    var isJSON = false
    var isHelp = false

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            func value() throws -> String {
                guard let value = rest.popFirst() else { throw BenchmarkError.usage("\(argument) needs a value") }
                return value
            }
            switch argument {
            case "--size": size = try Options.size(value(), argument)
            case "--rate": rate = try Options.size(value(), argument)
            case "--subject": subject = try value()
            case "--directory": directory = try value()
            case "--json": isJSON = true
            case "--help", "-h": isHelp = true
            default: throw BenchmarkError.usage("order does not know \(argument)")
            }
        }
    }

    static let help = """
        usage: headrace-bench order [options]

        Runs a download with --sync under strace, and checks the order of its calls: no record claims bytes before they
        are synced, each record is synced before it takes its name, and the file gets its name after its last byte and a
        record of that are on the disk; then the folder is synced. Says so and is content where there is no strace.

        options:
          --size BYTES      of the file, K, M and G allowed (128M)
          --rate BYTES      a second (32M)
          --subject PATH    the headrace to look at (the one beside this executable)
          --directory DIR   where the temporary directory goes (.build, else the current directory)
          --json            one JSON object on standard output, and nothing else there
          --help            this text

        exit status: 1 when a call came too early, or never
        """
}
