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
        let names = try makeSources(scene)
        let job = try makeJob(scene, names)
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
                try run(&entries[index], round: round, of: scene, names)
            }
        }
        let commands = entries.map { $0.command?.description(in: workspace) }
        return SceneResult(scene: scene, entries: entries, skipped: nil, commands: commands)
    }

    private func rounds(of scene: Scene) -> Int { min(options.rounds, scene.mostRounds ?? options.rounds) }

    /// Runs one contender in one round.
    ///
    /// A failure removes it from the scene and does not stop the others.
    private func run(_ entry: inout SceneResult.Entry, round: Int, of scene: Scene, _ names: [String]) throws {
        guard let command = entry.command, entry.failure == nil else { return }
        try workspace.prepareForRun()
        try Signals.check()
        let label = "\(scene.name) \(round == 0 ? "warm-up" : "\(round)/\(rounds(of: scene))") \(entry.contender.name)"
        do {
            let measurement = try Measurement.run(command, in: workspace, timeout: options.timeout)
            if let wrong = try verify(names) { throw BenchmarkError(wrong) }
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

    /// Makes the scene's files, and returns their names.
    ///
    /// An existing single file is reused, because its bytes depend only on its name.
    private func makeSources(_ scene: Scene) throws -> [String] {
        switch scene.payload {
        case .single(let bytes):
            let name = "\(scene.isSparse ? "sparse" : "single")-\(bytes).bin"
            let path = workspace.site + "/" + name
            if !FileSystem.exists(path) {
                Console.error("making \(Format.size(bytes))")
                let make = scene.isSparse ? SourceFile.makeSparse : SourceFile.make
                try make(path, bytes, 0)
            }
            return [name]
        case .many(let count, let each, _):
            Console.error("making \(scene.payload.description)")
            return try (1...count).map { number in
                let name = "many-\(number).bin"
                try SourceFile.make(workspace.site + "/" + name, size: each, seed: UInt64(number))
                return name
            }
        }
    }

    private func makeJob(_ scene: Scene, _ names: [String]) throws -> Job {
        let server = scene.pace == nil ? server : pacedServer ?? server
        let prefix = scene.pace.map { $0.component + "/" } ?? ""
        let urls = names.map { server.url(for: prefix + $0, isEncrypted: scene.isEncrypted) }
        let list = workspace.scratch + "/\(scene.name).txt"
        try FileSystem.write(urls.joined(separator: "\n") + "\n", to: list)
        let curl = workspace.scratch + "/\(scene.name).curl"
        try FileSystem.write(
            "remote-name-all\noutput-dir = \"\(workspace.output)\"\n"
                + urls.map { "url = \"\($0)\"\n" }.joined(),
            to: curl
        )
        return Job(
            payload: scene.payload,
            connections: scene.connections,
            url: urls[0],
            file: workspace.output + "/" + names[0],
            directory: workspace.output,
            list: list,
            curlConfiguration: curl,
            authority: scene.isEncrypted ? server.authority : nil
        )
    }

    /// Compares every byte of every file, and checks that there are no other files.
    ///
    /// Returns a description of the first problem; `nil` if there is none.
    private func verify(_ names: [String]) throws -> String? {
        for name in names {
            let source = workspace.site + "/" + name
            if let difference = try SourceFile.difference(of: workspace.output + "/" + name, from: source) {
                return "wrong file \(name): \(difference)"
            }
        }
        let others = Set(try FileSystem.names(in: workspace.output)).subtracting(names)
        return others.min().map { "left \(others.count) other file(s) behind, \($0)" }
    }
}
