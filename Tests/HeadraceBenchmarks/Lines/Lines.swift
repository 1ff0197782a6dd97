import HeadracePlatform

/// The verb `lines`: downloads over simulated lines.
struct Lines {
    let options: LinesOptions
    let ends: LineEnds
    let workspace: Workspace

    static func main(_ options: LinesOptions) throws -> Outcome {
        let needed = options.isCheck ? [] : ["nginx", "openssl"]
        if let missing = needed.first(where: { FileSystem.find($0) == nil }) {
            return Outcome(SkippedReport(reason: "lines needs \(missing), which is not installed"))
        }
        let subject = options.isCheck ? nil : try Comparison.subject(options.subject)
        Signals.block()
        let workspace = try Workspace(in: options.directory)
        defer { workspace.remove() }
        let ends: LineEnds
        do { ends = try LineEnds(in: workspace) } catch let error as BenchmarkError where error.status < 128 {
            return Outcome(
                SkippedReport(reason: "lines needs root and network namespaces with cubic: \(error.message)")
            )
        }
        defer { ends.close() }
        let lines = Lines(options: options, ends: ends, workspace: workspace)
        do {
            guard let subject else { return Outcome(LinesCheckReport(results: try options.lines.map(lines.check))) }
            return Outcome(try lines.race(subject))
        } catch let error as BenchmarkError where error.status == LineSystem.impossible {
            return Outcome(SkippedReport(reason: "lines needs TUN devices: \(error.message)"))
        }
    }

    /// Measures a line with datagrams.
    private func check(_ line: Line) throws -> LinesCheckReport.Result {
        let relay = try ends.connect(line)
        defer { relay.stop() }
        let probes = try ends.serveProbes()
        defer { probes.stop() }
        try Signals.check()
        let measured = LineSystem.probe(line)
        try Signals.check()
        Console.error("checked \(line.description)")
        return LinesCheckReport.Result(line: line, measured: measured)
    }

    private func race(_ subject: String) throws -> LinesReport {
        let wanted = LinesOptions.peers.filter { options.programs.contains($0.name) }
        let peers = wanted.map { ($0.name, $0.contender(in: workspace)) }
        let isSubjectWanted = options.programs.contains(Contender.subjectName)
        let subjects = isSubjectWanted ? [Contender.subject(at: subject, in: workspace)] : []
        var report = LinesReport(
            runs: options.runs,
            contenders: subjects + peers.compactMap(\.1),
            missingPeers: peers.filter { $0.1 == nil }.map(\.0)
        )
        let certificate = try Certificate.make(for: LineSystem.farAddress, in: workspace)
        let sizes = options.lines.flatMap { line in options.scenes.map { $0.payload(on: line).totalBytes } }
        try workspace.requireSpace(2 * (sizes.max() ?? 0))
        for line in options.lines {
            let relay = try ends.connect(line)
            do {
                let server = try LineServer.start(at: ends, certificate: certificate)
                defer { server.stop() }
                report.server = server.version
                for scene in options.scenes {
                    report.results.append(try run(scene, on: line, server, report.contenders))
                }
            } catch {
                relay.stop()
                throw error
            }
            relay.stop()
            report.statistics.append((line, ends.statistics().down))
        }
        return report
    }

    private func run(
        _ scene: LineScene,
        on line: Line,
        _ server: LineServer,
        _ contenders: [Contender]
    ) throws -> LinesReport.Result {
        for name in try FileSystem.names(in: workspace.site) { FileSystem.remove(workspace.site + "/" + name) }
        let files = try ServedFiles(scene.payload(on: line), in: workspace)
        let authority = scene.scheme.isEncrypted ? server.authority : nil
        let job = try files.job(for: scene.name, connections: .automatic, authority: authority) {
            server.url(for: $0, scene.scheme)
        }
        var entries = participants(in: scene, contenders).compactMap { participant in
            participant.command(for: job).map { LinesReport.Entry(contender: participant, command: $0) }
        }
        // The order rotates with the runs, so that no contender always follows the same one.
        for turn in 0..<options.runs {
            for index in entries.indices {
                try run(&entries[(index + turn) % entries.count], "\(line.description), \(scene.name)", files, line)
            }
        }
        return LinesReport.Result(line: line, scene: scene, entries: entries, workspace: workspace)
    }

    private func participants(in scene: LineScene, _ contenders: [Contender]) -> [LineContender] {
        contenders.flatMap { contender in
            var participants = LineVariant.all(of: contender.name, for: scene.work).map {
                LineContender(contender: contender, variant: $0)
            }
            if options.isDefaultsOnly { participants = participants.filter(\.isDefault) }
            if contender.isSubject, let trial = options.trial {
                participants.append(LineContender(contender: contender, variant: LineVariant(), arguments: trial))
            }
            return participants
        }
    }

    /// Runs one contender once; a failure removes it from the scene and does not stop the others.
    private func run(_ entry: inout LinesReport.Entry, _ label: String, _ files: ServedFiles, _ line: Line) throws {
        guard entry.failure == nil else { return }
        try workspace.prepareForRun()
        // Packets of the previous run must have left the line.
        usleep(UInt32(line.roundTrip * 2_000_000))
        try Signals.check()
        do {
            let measurement = try Measurement.run(entry.command, in: workspace, timeout: options.timeout)
            if let wrong = try files.verify() { throw BenchmarkError(wrong) }
            entry.samples.append(measurement)
            let figures = Metric.allCases.map { $0.text($0.value(of: measurement)) }.joined(separator: ", ")
            Console.error("\(label), \(entry.contender.name): \(figures)")
        } catch let error as BenchmarkError where error.status < 128 {
            entry.failure = error.message
            entry.samples = []
            Console.error("\(label), \(entry.contender.name): FAILED: \(error.message)")
        }
        try workspace.emptyOutput()
    }
}
