import HeadracePlatform

/// What the tool's `--json` lines say of one run, as far as the hostile verbs look at it.
///
/// The lines are flat objects in the tool's own spelling, and a killed tool may leave half of one.
struct ToolEvents: Sendable {
    struct Restart: Sendable {
        let reason: String
        let bytesWasted: Int
    }

    private(set) var restarts: [Restart] = []
    /// Where the bytes of earlier attempts were gone on from, in turn.
    private(set) var resumes: [Int] = []
    /// How often an attempt failed and was counted.
    private(set) var retries = 0
    /// The message of a download that failed.
    private(set) var failure: String?
    /// What the tool said beside its events.
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

    /// The text of a member; nil where the line has none.
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
    /// Ends the child as the kernel does when memory runs out: at once, and without asking.
    func crash() -> Exit {
        kill(-id, SIGKILL)
        while true {
            if let exit = poll() { return exit }
            usleep(500)
        }
    }

    /// The child's end; `nil` where it was killed because the time was up, or the run was interrupted.
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
        // It may have been faster by a hair.
        return exit.status & 0x7f == SIGKILL ? nil : exit
    }
}
