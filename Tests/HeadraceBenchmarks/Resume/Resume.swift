/// The verb `resume`: how headrace and its peers handle a wrong response to the request for the rest of a file.
struct Resume {
    /// Far longer than three megabytes take.
    private static let longestRun = 30

    let workspace: Workspace
    let server: ResumeServer

    static func main(_ options: ResumeOptions) throws -> Outcome {
        let subject = try Comparison.subject(options.subject)
        Signals.block()
        let workspace = try Workspace(in: options.directory)
        defer { workspace.remove() }
        let server = try ResumeServer()
        try server.start()
        defer { server.stop() }
        let resume = Resume(workspace: workspace, server: server)
        let installed = options.peers.compactMap { peer in FileSystem.find(peer.executable).map { (peer, $0) } }
        var report = ResumeReport()
        for (peer, executable) in [(ResumePeer.subject, subject)] + installed {
            let version = Version.of(executable, in: workspace)
            let cells = try ResumeCase.allCases.map { situation in
                let trial = report.columns.count
                return try resume.run(peer, executable, situation, trial: trial)
            }
            report.columns.append(ResumeReport.Column(name: peer.name, version: version, cells: cells))
        }
        return Outcome(report, isStrict: options.isStrict)
    }

    /// Performs both runs of one program in one case.
    private func run(
        _ peer: ResumePeer,
        _ executable: String,
        _ situation: ResumeCase,
        trial: Int
    ) throws -> ResumeOutcome {
        let directory = "\(workspace.output)/\(situation.rawValue)-\(trial)"
        try FileSystem.makeDirectory(directory)
        defer { FileSystem.remove(directory) }
        let log = workspace.scratch + "/resume.log"
        func status(isResumed: Bool) throws -> Int32? {
            let run = ResumePeer.Run(
                url: server.url(situation, trial: trial),
                directory: directory,
                isResumed: isResumed
            )
            let command = Command(executable: executable, arguments: peer.arguments(run))
            let process = try ChildProcess.spawn(command, home: workspace.home, log: log)
            do {
                return try process.wait(atMost: Self.longestRun).code
            } catch let error as BenchmarkError where error.status < 128 {
                // It was killed after the time-out.
                return nil
            }
        }
        var cell = ResumeOutcome()
        _ = try status(isResumed: false)
        server.endFirstRun(situation, trial: trial)
        cell.hadHalf = try hasHalf(in: directory, situation)
        cell.status = try status(isResumed: true)
        cell.file = try ResumeOutcome.File(at: directory + "/" + ResumeServer.fileName, in: situation)
        cell.isKept = try hasHalf(in: directory, situation)
        if cell.status != 0 { cell.message = ToolEvents(log: log).failure }
        return cell
    }

    /// Returns whether any file begins with the bytes from before the cut.
    private func hasHalf(in directory: String, _ situation: ResumeCase) throws -> Bool {
        let old = situation.versions[0].content
        return try FileSystem.names(in: directory).contains { name in
            try ContentCheck.firstDifference(in: directory + "/" + name, 0..<ResumeCase.cut, from: old) == nil
        }
    }
}
