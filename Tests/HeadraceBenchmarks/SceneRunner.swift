/// Runs one scene: makes its files, then lets every contender download them, round by round.
struct SceneRunner {
    let options: ComparisonOptions
    let workspace: Workspace
    let server: OriginServer
    /// The server for scenes with a pace.
    let pacedServer: OriginServer?
    let contenders: [Contender]

    func run(_ scene: Scene) throws -> SceneResult {
        if scene.isEncrypted, server.tlsPort == nil {
            return SceneResult(scene: scene, entries: [], skipped: server.tlsObstacle ?? "the server has no TLS")
        }
        if workspace.freeBytes < scene.leastFreeBytes {
            let (free, least) = (workspace.freeBytes, scene.leastFreeBytes)
            let reason = "\(Format.mebibytes(free)) MiB are free, and less than \(Format.size(least)) is too little"
            return SceneResult(scene: scene, entries: [], skipped: reason)
        }
        let files = try ServedFiles(scene.payload, isSparse: scene.isSparse, in: workspace)
        let job = try job(for: scene, files)
        let participants = contenders.filter { $0.isSubject || scene.peers?.contains($0.name) != false }
        var entries = participants.map { contender in
            switch contender.plan(job) {
            case .skip(let reason):
                SceneResult.Entry(contender: contender, command: nil, skipped: reason)
            case .run(let arguments, let environment):
                SceneResult.Entry(
                    contender: contender,
                    command: Command(
                        executable: contender.executable,
                        arguments: arguments,
                        environment: environment
                    )
                )
            }
        }
        // Round 0 fills caches and is not counted. The order rotates with the rounds, so that no contender always
        // follows the same one.
        for round in 0...rounds(of: scene) {
            for turn in entries.indices {
                let index = (turn + round) % entries.count
                try run(&entries[index], round: round, of: scene, files)
            }
        }
        let commands = entries.map { $0.command?.description(in: workspace) }
        return SceneResult(scene: scene, entries: entries, skipped: nil, commands: commands)
    }

    private func rounds(of scene: Scene) -> Int { min(options.rounds, scene.mostRounds ?? options.rounds) }

    /// Runs one contender in one round.
    ///
    /// A failure removes it from the scene and does not stop the others.
    private func run(_ entry: inout SceneResult.Entry, round: Int, of scene: Scene, _ files: ServedFiles) throws {
        guard let command = entry.command, entry.failure == nil else { return }
        try workspace.prepareForRun()
        try Signals.check()
        let label = "\(scene.name) \(round == 0 ? "warm-up" : "\(round)/\(rounds(of: scene))") \(entry.contender.name)"
        do {
            let measurement = try Measurement.run(command, in: workspace, timeout: options.timeout)
            if let wrong = try files.verify() { throw BenchmarkError(wrong) }
            if round > 0 { entry.samples.append(measurement) }
            Console.error(
                "\(label): \(Metric.allCases.map { $0.text($0.value(of: measurement)) }.joined(separator: ", "))"
            )
        } catch let error as BenchmarkError where error.status < 128 {
            entry.failure = error.message
            entry.samples = []
            Console.error("\(label): FAILED: \(error.message)")
        }
        try workspace.emptyOutput()
    }

    private func job(for scene: Scene, _ files: ServedFiles) throws -> Job {
        let server = scene.pace == nil ? server : pacedServer ?? server
        let prefix = scene.pace.map { $0.component + "/" } ?? ""
        return try files.job(
            for: scene.name,
            connections: scene.connections,
            authority: scene.isEncrypted ? server.authority : nil
        ) { server.url(for: prefix + $0, isEncrypted: scene.isEncrypted) }
    }
}
