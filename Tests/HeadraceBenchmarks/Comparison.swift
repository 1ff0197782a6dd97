/// The default verb: prepares the workspace, runs the scenes, prints the report and cleans up.
struct Comparison {
    let options: ComparisonOptions
    let workspace: Workspace

    static func main(_ options: ComparisonOptions) throws -> Outcome {
        let subject = try subject(options.subject)
        Signals.block()
        let workspace = try Workspace(in: options.directory)
        defer { workspace.remove() }
        let report = try Comparison(options: options, workspace: workspace).run(subject: subject)
        return Outcome(report, isMissed: options.isStrict && report.hasUnmetTarget)
    }

    /// Returns the headrace to measure: the one at the given path, or else the one from the same build.
    static func subject(_ path: String?) throws -> String {
        let own = FileSystem.ownExecutable
        let directory = own.prefix(through: own.lastIndex(of: "/") ?? own.startIndex)
        let subject = FileSystem.absolute(path ?? directory + Contender.subjectName)
        guard FileSystem.isExecutable(subject) else {
            throw BenchmarkError(
                "there is no \(subject): run `swift build -c release` first, or name it with --subject"
            )
        }
        return subject
    }

    private func run(subject: String) throws -> Report {
        let scenes = options.scenes.map { scene in
            var scene = scene
            if let size = options.size { scene.payload = scene.payload.scaled(to: size) }
            return scene
        }
        // One source file per size serves all its scenes, with one output at a time beside it. Sparse files need hardly
        // any space, and their scenes check the space for the output themselves.
        let sizes = scenes.filter { !$0.isSparse }.map(\.payload.totalBytes)
        try workspace.requireSpace(sizes.reduce(0, +) + (sizes.max() ?? 0))

        let peers = options.peers.map { ($0.name, $0.contender(in: workspace)) }
        let contenders = [Contender.subject(at: subject, in: workspace)] + peers.compactMap(\.1)
        let isTLSWanted = scenes.contains(where: \.isEncrypted)
        let server = try OriginServer.start(options.server, isTLSWanted: isTLSWanted, in: workspace)
        defer { server.stop() }
        // Only the built-in server supports a pace.
        let pacedServer = scenes.contains { $0.pace != nil } ? try LoopbackServer.start(in: workspace) : nil
        defer { pacedServer?.stop() }

        let runner = SceneRunner(
            options: options,
            workspace: workspace,
            server: server,
            pacedServer: pacedServer,
            contenders: contenders
        )
        let results = try scenes.map(runner.run)
        return Report(
            server: server.description,
            rounds: options.rounds,
            directory: workspace.root,
            contenders: contenders,
            missingPeers: peers.filter { $0.1 == nil }.map(\.0),
            scenes: results
        )
    }
}
