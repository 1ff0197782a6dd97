/// What the torture was asked to do.
struct TortureOptions: Sendable {
    /// How long an answer takes that nobody disturbs: long enough that a kill mostly finds one under way.
    static let secondsPerFile = 3
    /// Uniformly distributed over this many seconds is when a run is killed.
    ///
    /// It must reach well past the first second: before that the tool keeps no record, and no run would get further.
    static let killWindow = 0.0...2.5

    var kills = 500
    var seed = UInt64.random(in: 0...UInt64(UInt32.max))
    var size = 3 << 20
    var jobs = 8
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
            case "--kills": kills = try Options.positive(value(), argument)
            case "--seed": seed = UInt64(try Options.positive(value(), argument))
            case "--size": size = try Options.size(value())
            case "--jobs": jobs = try Options.positive(value(), argument)
            case "--subject": subject = try value()
            case "--directory": directory = try value()
            case "--json": isJSON = true
            case "--help", "-h": isHelp = true
            default: throw BenchmarkError.usage("torture does not know \(argument)")
            }
        }
    }

    /// The bytes per second of one answer.
    var rate: Int { max(1, size / Self.secondsPerFile) }

    /// What one kill may cost on a server that gives no reason for more.
    ///
    /// The tool brings its record up to date once a second, so a second's bytes are lost.
    var bytesPerKill: Int { max(1 << 20, rate) }

    static let help = """
        usage: headrace-bench torture [options]

        Downloads files from four servers of its own: one that is good, one that cuts connections, one whose files
        change, and one that sends the whole file to whoever sends If-Range. Kills the tool (SIGKILL) at random moments
        and starts it again until each file is there. Checks that every file is exactly one version of its source.

        options:
          --kills N         how often the tool is killed (500)
          --seed S          decides the moments, cuts and changes (random, and printed)
          --size BYTES      of each file, K, M and G allowed (3M); an undisturbed download takes 3 s
          --jobs N          downloads at once (8)
          --subject PATH    the headrace to torture (the one beside this executable)
          --directory DIR   where the temporary directory goes (.build, else the current directory)
          --json            one JSON object on standard output, and nothing else there
          --help            this text

        exit status: 1 when a file was wrong, was left over or never came; when a download began again although its
        file had not changed and its bytes were on record; or when the good server sent more than 1.05 times its files
        and a second's bytes (at least 1 MiB) for each kill. A kill before a download's first record, which comes after
        a second, costs all of it; such kills are counted apart
        """
}
