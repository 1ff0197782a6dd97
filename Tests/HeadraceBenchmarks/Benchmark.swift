import HeadracePlatform

/// The benchmark tool: one executable with one verb per kind of measurement.
///
/// It shares the machine with the programs that it measures, so it relies on system calls. Only the `queue-child`
/// processes, which run the library itself, use Foundation.
@main
struct Benchmark {
    static func main() {
        exit(run(Array(CommandLine.arguments.dropFirst())))
    }

    private static func run(_ arguments: [String]) -> Int32 {
        // Records the load and the date before the tool adds load of its own.
        _ = Machine.atStart
        let named = arguments.first.flatMap { first in Verb.all.first { $0.name == first } }
        let verb = named ?? .compare
        // A closed output pipe must not end the process, which would leave a server behind.
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

/// A kind of measurement, selected by the first argument.
///
/// Without a verb, the comparison runs.
struct Verb: Sendable {
    let name: String
    /// The line in the help text; `nil` for a verb that only the tool itself uses.
    let summary: String?
    let run: @Sendable ([String]) throws -> Int32

    static let all: [Verb] =
        [
            compare,
            Verb("measure a long queue, and a thousand downloads at once", Queue.main),
            Verb("measure the accuracy and the cost of rate limits", Rates.main),
            Verb("send wrong responses to the request for the rest of a file", Resume.main),
            Verb("kill headrace at random moments, and check every file", Torture.main),
            Verb("kill a queue at random moments, and check it", QueueKills.main),
            Verb("fail or kill headrace at each of its file calls in turn", Faults.main),
            Verb("measure what a kill loses, and what resume records cost", Checkpoint.main),
            Verb("interrupt, restore and change the network", Network.main),
            Verb("race headrace against the peers on slow, long and lossy lines (as root)", Lines.main),
            Verb("check the order of a download's system calls (with strace)", Order.main),
            Verb("cut the power of a file system under headrace (as root)", Powercut.main),
            Verb("simulate whole managers with faulty servers, disks and processes", Simulate.main),
            Verb(hidden: "serve", LoopbackService.main),
            Verb(hidden: QueueChild.verb, QueueChild.main),
        ] + LineSystem.verbs

    static let compare = Verb("race headrace against the installed peers (the default)", Comparison.main)

    private init<Options: VerbOptions>(_ summary: String, _ main: @escaping @Sendable (Options) throws -> Outcome) {
        name = Options.verb
        self.summary = summary
        run = { arguments in
            guard let options = try Options.read(arguments) else {
                Console.print(Options.help)
                return 0
            }
            return try main(options).conclude(Options.verb, asJSON: options.isJSON)
        }
    }

    init(hidden name: String, _ run: @escaping @Sendable ([String]) throws -> Int32) {
        self.name = name
        summary = nil
        self.run = run
    }
}

/// An error that ends the tool, with the exit status that identifies its kind to scripts.
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

    /// Describes a failed system call, with the attempted operation.
    static func system(_ what: String, _ code: Int32 = errno) -> BenchmarkError {
        BenchmarkError("\(what): \(strerror(code).map { String(cString: $0) } ?? "error \(code)")")
    }

    static func interrupted(by signal: Int32) -> BenchmarkError {
        BenchmarkError("interrupted; everything was stopped and removed", status: 128 + signal)
    }
}
