import HeadracePlatform

/// The events in the tool's `--json` output of one run that the benchmarks use.
///
/// The lines are flat objects in the tool's own formatting, and a killed tool may leave an incomplete one.
struct ToolEvents: Sendable {
    struct Restart: Sendable {
        let reason: String
        let bytesWasted: Int
    }

    private(set) var restarts: [Restart] = []
    /// The offsets at which earlier attempts' bytes were resumed, in order.
    private(set) var resumes: [Int] = []
    /// The number of retries after a failed attempt.
    private(set) var retries = 0
    /// The message of a failed download.
    private(set) var failure: String?
    /// The output lines that are not events.
    private(set) var remarks: [String] = []

    init(log: String) {
        for line in FileSystem.text(of: log, limit: 1 << 20).split(separator: "\n") {
            if !line.hasPrefix("{") { remarks.append(String(line)) }
            switch Self.text("event", in: line) {
            case "restarted":
                let reason = Self.text("reason", in: line) ?? "unknown"
                restarts.append(Restart(reason: reason, bytesWasted: Self.number("bytesWasted", in: line) ?? 0))
            case "resumed": resumes.append(Self.number("offset", in: line) ?? 0)
            case "retrying": retries += 1
            case "failed": failure = Self.text("message", in: line)
            default: break
            }
        }
    }

    /// Returns the value of a string member; `nil` if the line has none.
    static func text(_ name: String, in line: Substring) -> String? {
        guard let start = line.firstRange(of: "\"\(name)\":\"")?.upperBound else { return nil }
        return line[start...].firstIndex(of: "\"").map { String(line[start..<$0]) }
    }

    private static func number(_ name: String, in line: Substring) -> Int? {
        guard let start = line.firstRange(of: "\"\(name)\":")?.upperBound else { return nil }
        return Int(line[start...].prefix { $0.isNumber })
    }
}

extension ChildProcess {
    /// Kills the child with SIGKILL, like the kernel when memory is exhausted, and reaps it.
    func crash() -> Exit {
        kill(-id, SIGKILL)
        while true {
            if let exit = poll() { return exit }
            usleep(500)
        }
    }

    /// Returns how the child ended; `nil` if it was killed because the time was up.
    func poll(for seconds: Double) throws -> Exit? {
        let end = MonotonicTime.now + seconds
        while MonotonicTime.now < end {
            if let exit = poll() { return exit }
            do { try Signals.check() } catch {
                _ = crash()
                throw error
            }
            usleep(1_000)
        }
        let exit = crash()
        // It may have ended just before the signal.
        return exit.status & 0x7f == SIGKILL ? nil : exit
    }
}
