/// What the measurement of the record was asked to be.
struct CheckpointOptions: Sendable {
    /// Uniformly distributed over this many seconds is when a run is killed.
    static let killWindow = 0.2...3.0

    var kills = 20
    var rounds = 5
    var seed = UInt64.random(in: 0...UInt64(UInt32.max))
    var size = 1 << 30
    var rate = 100_000_000
    var costSize = 4 << 30
    var subject: String?
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
            func count() throws -> Int {
                let text = try value()
                return text == "0" ? 0 : try Options.positive(text, argument)
            }
            switch argument {
            case "--kills": kills = try count()
            case "--rounds": rounds = try count()
            case "--seed": seed = UInt64(try Options.positive(value(), argument))
            case "--size": size = try Options.size(value(), argument)
            case "--rate": rate = try Options.size(value(), argument)
            case "--cost-size": costSize = try Options.size(value(), argument)
            case "--subject": subject = try value()
            case "--directory": directory = try value()
            case "--json": isJSON = true
            case "--strict": isStrict = true
            case "--help", "-h": isHelp = true
            default: throw BenchmarkError.usage("checkpoint does not know \(argument)")
            }
        }
    }

    static let help = """
        usage: headrace-bench checkpoint [options]

        Measures the record that makes a killed download one that is gone on with. First kills the tool (SIGKILL) at
        random moments of a paced download and tells how many seconds of it have to be fetched again. Then races the
        tool, as fast as it goes, against itself with a directory put where it makes its records, so that there are none.

        options:
          --kills N         how often the tool is killed (20), 0 for none
          --seed S          decides the moments (random, and printed)
          --size BYTES      of the file that comes at a pace, K, M and G allowed (1G)
          --rate BYTES      a second (100000000)
          --rounds N        pairs of runs with and without records (5), 0 for none
          --cost-size BYTES of the file that comes as fast as it goes, which must take well over a second (4G)
          --subject PATH    the headrace to measure (the one beside this executable)
          --directory DIR   where the temporary directory goes (.build, else the current directory: a real disk)
          --json            one JSON object on standard output, and nothing else there
          --strict          exit status 1 when a target is not met: 1.2 s a kill at the most, 1 % of the time
          --help            this text

        exit status: 1 when the tool failed or a file was wrong (or, with --strict, a target was not met)
        """
}
