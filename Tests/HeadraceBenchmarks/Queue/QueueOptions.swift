/// What the measurement of the list was asked to be.
struct QueueOptions: Sendable {
    var downloads = 100_000
    var atOnce = 1_000
    var directory: String?
    var isJSON = false
    var isStrict = false
    var isHelp = false

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            func value() throws -> String {
                guard let value = rest.popFirst() else { throw BenchmarkError.usage("\(argument) needs a value") }
                return value
            }
            switch argument {
            case "--downloads": downloads = try Options.positive(value(), argument)
            case "--at-once": atOnce = try Options.positive(value(), argument)
            case "--directory": directory = try value()
            case "--json": isJSON = true
            case "--strict": isStrict = true
            case "--help", "-h": isHelp = true
            default: throw BenchmarkError.usage("queue does not know \(argument)")
            }
        }
    }

    static let help = """
        usage: headrace-bench queue [options]

        Measures the list of a download manager, each part in a process of its own: what many downloads cost when they
        are added, without and with a registry directory, and when they are restored from it; what one verb costs in a
        short list and in a long one; and how many descriptors many downloads take that run at once.

        options:
          --downloads N     in the long list (100000); the short one has a hundredth
          --at-once N       how many run at once (1000), each held by the server until all are there
          --directory DIR   where the temporary directory goes (.build, else the current directory: a real disk)
          --json            one JSON object on standard output, and nothing else there
          --strict          exit status 1 when a goal is not met
          --help            this text

        exit status: 1 when a download failed (or, with --strict, a goal was not met)
        """
}
