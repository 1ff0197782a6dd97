#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// What the kills of a running queue were asked to be.
struct QueueKillsOptions: Sendable {
    var kills = 100
    var seed = UInt64.random(in: 0...UInt64(UInt32.max))
    var files = 50
    var size = 4 << 20
    var jobs = 4
    /// Uniformly distributed over so many seconds is when the process is killed.
    var window = 5.0
    var ratio = 1.3
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
            func number() throws -> Double {
                let text = try value()
                guard let number = Double(text), number > 0 else {
                    throw BenchmarkError.usage("\(argument) \(text): not a number")
                }
                return number
            }
            switch argument {
            case "--kills": kills = try Options.positive(value(), argument)
            case "--seed": seed = UInt64(try Options.positive(value(), argument))
            case "--files": files = try Options.positive(value(), argument)
            case "--size": size = max(Self.leastSize, try Options.size(value(), argument))
            case "--jobs": jobs = try Options.positive(value(), argument)
            case "--window": window = try number()
            case "--ratio": ratio = try number()
            case "--subject": subject = try value()
            case "--directory": directory = try value()
            case "--json": isJSON = true
            case "--help", "-h": isHelp = true
            default: throw BenchmarkError.usage("queue-kills does not know \(argument)")
            }
        }
    }

    static let leastSize = 1_000

    /// The size of a file, which follows from the seed: of each order of magnitude there are as many.
    func size(of file: Int) -> Int {
        var random = SplitMix(seed: seed &+ UInt64(file) &* 1_000_003)
        let span = Double(size) / Double(Self.leastSize)
        return Int(Double(Self.leastSize) * pow(span, Double.random(in: 0...1, using: &random)))
    }

    static let help = """
        usage: headrace-bench queue-kills [options]

        Runs `headrace queue run` on a list of downloads, kills it (SIGKILL) at random moments and starts it again until
        all files are there; then with another list, until there were as many kills as asked for. After each kill looks
        whether the list is whole: all downloads, in their order, and finished those that had finished. In the end all
        files have to be exact and alone.

        options:
          --kills N         how often the process is killed (100)
          --seed S          decides the sizes and the moments (random, and printed)
          --files N         downloads in the queue (50)
          --size BYTES      of the largest file, K, M and G allowed (4M); the least has 1 kB
          --jobs N          downloads at once (4)
          --window SECONDS  how long a process lives at the most (5); the pace is such that the kills fall all over the run
          --ratio R         how many times the bytes of the files may be fetched (1.3)
          --subject PATH    the headrace to kill (the one beside this executable)
          --directory DIR   where the temporary directory goes (.build, else the current directory)
          --json            one JSON object on standard output, and nothing else there
          --help            this text

        exit status: 1 when a list or a file was wrong, or more was fetched
        """
}
