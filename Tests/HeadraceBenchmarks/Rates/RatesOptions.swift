/// What the measurement of limits was asked to be.
struct RatesOptions: Sendable {
    var rates = [100_000, 2_000_000, 50_000_000]
    var connections = [1, 4, 16]
    /// How long each limit is measured, after it has begun.
    var seconds = 15
    var subject: String?
    var directory: String?
    var isStrict = false
    var isJSON = false
    var isHelp = false

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            func value() throws -> String {
                guard let value = rest.popFirst() else { throw BenchmarkError.usage("\(argument) needs a value") }
                return value
            }
            func numbers() throws -> [Int] {
                try value().split(separator: ",").map { try Options.positive(String($0), argument) }
            }
            switch argument {
            case "--rates": rates = try numbers()
            case "--connections": connections = try numbers()
            case "--seconds": seconds = max(RatesRun.window, try Options.positive(value(), argument))
            case "--subject": subject = try value()
            case "--directory": directory = try value()
            case "--strict": isStrict = true
            case "--json": isJSON = true
            case "--help", "-h": isHelp = true
            default: throw BenchmarkError.usage("rates does not know \(argument)")
            }
        }
    }

    static let help = """
        usage: headrace-bench rates [options]

        Runs `headrace get --limit-rate` over some connections and looks all the time how many bytes its files have.
        Tells how far any five seconds were from the limit, and how much of a processor the tool took, its start included.

        options:
          --rates LIST        limits in bytes per second (100000,2000000,50000000)
          --connections LIST  how many connections share a limit (1,4,16)
          --seconds N         how long each is measured (15), 5 at the least
          --subject PATH      the headrace to measure (the one beside this executable)
          --directory DIR     where the temporary directory goes (.build, else the current directory)
          --strict            exit status 1 when a limit is missed by more than 3 %, or takes more than 2 % of a processor
                              at 2 MB/s or less
          --json              one JSON object on standard output, and nothing else there
          --help              this text
        """
}
