import HeadracePlatform

#if os(Linux)
import CHeadraceLine
#endif

/// The parts of a line that run in processes of their own, and need Linux.
enum LineSystem {
    /// The exit status of a process that the system does not allow to do its work.
    static let impossible: Int32 = 77

    /// The addresses are reserved for documentation (RFC 5737), so they exist on no real network.
    static let nearAddress = "198.51.100.1"
    static let farAddress = "198.51.100.2"

    static let verbs: [Verb] = [
        Verb(hidden: Role.namespace.rawValue) { _ in holdNamespace() },
        Verb(hidden: Role.line.rawValue) { arguments in
            guard arguments.count == 2, let far = Int32(arguments[1]) else {
                throw BenchmarkError.usage("\(Role.line.rawValue) LINE PROCESS")
            }
            return run(try Line(arguments[0]), to: far)
        },
        Verb(hidden: Role.far.rawValue) { arguments in
            guard arguments.count > 1, let far = Int32(arguments[0]) else {
                throw BenchmarkError.usage("\(Role.far.rawValue) PROCESS COMMAND")
            }
            let status = enterNamespace(of: far)
            return status == 0 ? execute(Array(arguments.dropFirst())) : status
        },
        Verb(hidden: Role.probes.rawValue) { _ in serveProbes() },
    ]

    /// The verbs of the processes.
    enum Role: String {
        case namespace = "line-namespace"
        case line = "line-relay"
        /// Runs a program at the far end, which ends with this tool.
        case far = "line-far"
        case probes = "line-probes"
    }

    /// Replaces this process with a program, and returns only on failure.
    private static func execute(_ command: [String]) -> Int32 {
        // The server handles a closed connection itself.
        signal(SIGPIPE, SIG_DFL)
        var words = command.map { strdup($0) } + [nil]
        execv(command[0], &words)
        Console.error("cannot start \(command[0])")
        return 127
    }

    #if os(Linux)
    /// Makes the current network namespace use cubic; throws if that is not permitted.
    static func configureNamespace() throws {
        guard hline_configure_namespace() == 0 else { throw BenchmarkError("cubic is not permitted here") }
    }

    /// Measures the line to the process that serves probes.
    static func probe(_ line: Line) -> LineMeasurement {
        var parameters = line.parameters
        let measured = hline_probe(&parameters, farAddress)
        return LineMeasurement(
            rate: measured.bits_per_second,
            roundTrip: measured.round_trip_seconds,
            loss: measured.loss,
            packets: Int(measured.packets)
        )
    }

    private static func holdNamespace() -> Int32 { hline_hold_namespace() }

    private static func enterNamespace(of process: pid_t) -> Int32 { hline_enter_namespace(process) }

    private static func serveProbes() -> Int32 { hline_serve_probes(farAddress) }

    private static func run(_ line: Line, to far: pid_t) -> Int32 {
        var parameters = line.parameters
        return hline_run(&parameters, far, nearAddress, farAddress)
    }
    #else
    static func configureNamespace() throws { throw BenchmarkError("only Linux has network namespaces") }

    static func probe(_ line: Line) -> LineMeasurement {
        LineMeasurement(rate: -1, roundTrip: -1, loss: -1, packets: 0)
    }

    private static func holdNamespace() -> Int32 { impossible }
    private static func enterNamespace(of process: pid_t) -> Int32 { impossible }
    private static func serveProbes() -> Int32 { impossible }
    private static func run(_ line: Line, to far: pid_t) -> Int32 { impossible }
    #endif
}

#if os(Linux)
extension Line {
    fileprivate var parameters: hline {
        hline(
            bits_per_second: Int64(rate),
            delay_nanoseconds: Int64((roundTrip * 5e8).rounded()),
            loss: loss,
            queue_bytes: Int64(queue),
            seed: seed
        )
    }
}
#endif
