#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The benchmark tool: one executable, one verb per kind of measurement.
///
/// What it needs is the system's calls, and it shares the machine with what it measures: only the processes in which it runs
/// the library itself, which are those of the verb `queue-child`, use Foundation.
@main
struct Benchmark {
    static func main() {
        exit(run(Array(CommandLine.arguments.dropFirst())))
    }

    private static func run(_ arguments: [String]) -> Int32 {
        let named = arguments.first.flatMap { first in Verb.all.first { $0.name == first } }
        let verb = named ?? .compare
        // A reader of our output that goes away must not leave a server behind.
        signal(SIGPIPE, SIG_IGN)
        do {
            return try verb.run(named == nil ? arguments : Array(arguments.dropFirst()))
        } catch let error as BenchmarkError {
            Console.error("headrace-bench: \(error.message)")
            return error.status
        } catch {
            Console.error("headrace-bench: \(error)")
            return 1
        }
    }
}

/// One thing that the tool can do, chosen by the first argument.
///
/// The scenes of the comparison need no verb.
struct Verb: Sendable {
    let name: String
    /// The line in the help text, `nil` for a verb that only the tool itself calls.
    let summary: String?
    let run: @Sendable ([String]) throws -> Int32

    static let all: [Verb] = [
        .compare, .queue, .rates, .resume, .torture, .queueKills, .checkpoint, .order, .powercut, .serve, .queueChild,
    ]

    static let compare = Verb(name: "compare", summary: "race headrace against the installed peers (the default)") {
        try Comparison.main($0)
    }

    static let queue = Verb(name: "queue", summary: "what a long list costs, and a thousand downloads at once") {
        try Queue.main($0)
    }

    static let rates = Verb(name: "rates", summary: "how exactly limits of bytes per second are held, and their cost") {
        try Rates.main($0)
    }

    static let queueKills = Verb(name: "queue-kills", summary: "kill a queue at random moments, and check its list") {
        try QueueKills.main($0)
    }

    static let queueChild = Verb(name: "queue-child", summary: nil) { try QueueChild.main($0) }

    static let resume = Verb(name: "resume", summary: "answer badly when the rest of a file is asked for") {
        try Resume.main($0)
    }

    static let torture = Verb(name: "torture", summary: "kill headrace at random moments, and check every file") {
        try Torture.main($0)
    }

    static let checkpoint = Verb(
        name: "checkpoint",
        summary: "what a kill loses of a fast download, and its record costs"
    ) {
        try Checkpoint.main($0)
    }

    static let order = Verb(name: "order", summary: "check the order of a download's system calls (with strace)") {
        try Order.main($0)
    }

    static let powercut = Verb(name: "powercut", summary: "cut the power of a file system under headrace (as root)") {
        try Powercut.main($0)
    }

    static let serve = Verb(name: "serve", summary: nil) { try LoopbackService.main($0) }
}

/// A reason to stop, with the exit status that tells a script which kind it was.
struct BenchmarkError: Error {
    let message: String
    let status: Int32

    init(_ message: String, status: Int32 = 1) {
        self.message = message
        self.status = status
    }

    static func usage(_ message: String) -> BenchmarkError {
        BenchmarkError("\(message) (see --help)", status: 2)
    }

    /// An error of a system call, with what was being tried.
    static func system(_ what: String, _ code: Int32 = errno) -> BenchmarkError {
        BenchmarkError("\(what): \(strerror(code).map { String(cString: $0) } ?? "error \(code)")")
    }

    static func interrupted(by signal: Int32) -> BenchmarkError {
        BenchmarkError("interrupted; everything was stopped and removed", status: 128 + signal)
    }
}
