import HeadracePlatform

/// One download during which the network changes.
struct NetworkCheck {
    enum Change: String, CaseIterable {
        case linkDown = "link down"
        case cablePulled = "cable pulled"
        case addressChanged = "address changed"
    }

    struct Result {
        let change: Change
        /// The seconds from the change until the tool reported that it waits; `nil` if it need not wait.
        var hold: Double?
        /// The seconds from the return of the network until bytes arrived.
        var comeback: Double
        var retries: Int
        /// The duration of the whole download in seconds.
        var seconds: Double
    }

    private static let name = "file.bin"
    /// Far longer than the download takes.
    private static let longestRun = 60.0

    let change: Change
    let source: String
    /// The pace of each connection.
    let pace: Pace
    let subject: String
    let pair: NetworkPair
    let workspace: Workspace
    private var log: String { workspace.scratch + "/tool.log" }

    func run() throws -> Result {
        try workspace.prepareForRun()
        let start = MonotonicTime.now
        let url = pair.url(for: "\(pace.component)/\(Self.name)")
        let options = ["get", "--json", "--wait-for-network", "-x", "2", "-d", workspace.output]
        let tool = try ChildProcess.spawn(
            Command(executable: subject, arguments: options + ["-o", Self.name, url]),
            home: workspace.home,
            log: log
        )
        do {
            _ = try awaitEvent("connectionOpened", of: tool, after: 0)
            usleep(1_000_000)
            let (hold, comeback) = try disturb(tool)
            while true {
                if let exit = tool.poll() {
                    if let failure = exit.failure { throw BenchmarkError("\(failure): \(FileSystem.text(of: log))") }
                    break
                }
                guard MonotonicTime.now < start + Self.longestRun else { throw BenchmarkError("the tool hangs") }
                try Signals.check()
                usleep(10_000)
            }
            if let wrong = try SourceFile.difference(of: workspace.output + "/" + Self.name, from: source) {
                throw BenchmarkError("\(change.rawValue): the file \(wrong)")
            }
            let retries = ToolEvents(log: log).retries
            let seconds = MonotonicTime.now - start
            return Result(change: change, hold: hold, comeback: comeback, retries: retries, seconds: seconds)
        } catch {
            _ = tool.crash()
            throw error
        }
    }

    /// Changes the network, restores it, and returns the seconds until the tool waited and until it resumed.
    private func disturb(_ tool: ChildProcess) throws -> (hold: Double?, comeback: Double) {
        let said = text.utf8.count
        var changed = MonotonicTime.now
        var hold: Double?
        switch change {
        case .linkDown, .cablePulled:
            try setLink(false)
            let waiting = try awaitEvent("waitingForNetwork", of: tool, after: said)
            guard waiting.line.contains("\"reason\":\"offline\"") else {
                throw BenchmarkError("\(change.rawValue): the tool waits for another reason: \(waiting.line)")
            }
            hold = waiting.time - changed
            usleep(UInt32(max(0, NetworkOptions.absence - (MonotonicTime.now - changed)) * 1_000_000))
            changed = MonotonicTime.now
            try setLink(true)
        case .addressChanged:
            try pair.change("addr add \(NetworkPair.secondAddress) dev \(NetworkPair.link)")
            try pair.change("addr del \(NetworkPair.firstAddress) dev \(NetworkPair.link)")
        }
        return (hold, try awaitEvent("resumed", of: tool, after: said).time - changed)
    }

    private func setLink(_ isUp: Bool) throws {
        guard change == .linkDown else { return try pair.setCarrier(isUp) }
        try pair.change("link set \(NetworkPair.link) \(isUp ? "up" : "down")")
    }

    private var text: String { FileSystem.text(of: log, limit: 1 << 20) }

    /// Waits until the tool has emitted an event after the given offset of its output.
    private func awaitEvent(
        _ event: String,
        of tool: ChildProcess,
        after offset: Int
    ) throws -> (line: Substring, time: Double) {
        let end = MonotonicTime.now + Self.longestRun
        while MonotonicTime.now < end {
            let new = Substring(text.utf8.dropFirst(offset))
            let lines = new.split(separator: "\n")
            if let line = lines.first(where: { ToolEvents.text("event", in: $0) == event }) {
                return (line, MonotonicTime.now)
            }
            if tool.poll() != nil { throw BenchmarkError("\(change.rawValue): the tool ended too early: \(text)") }
            try Signals.check()
            usleep(2_000)
        }
        throw BenchmarkError("\(change.rawValue): the tool did not report \(event): \(text)")
    }
}
