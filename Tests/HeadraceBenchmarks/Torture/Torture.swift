import HeadracePlatform

/// The verb `torture`: downloads that are killed until they are finished.
struct Torture {
    let options: TortureOptions
    let workspace: Workspace
    let subject: String
    let server: HostileServer

    static func main(_ options: TortureOptions) throws -> Outcome {
        let subject = try Comparison.subject(options.subject)
        Signals.block()
        let workspace = try Workspace(in: options.directory)
        defer { workspace.remove() }
        let server = try HostileServer(seed: options.seed, size: options.size, rate: options.rate)
        try server.start()
        defer { server.stop() }
        let torture = Torture(options: options, workspace: workspace, subject: subject, server: server)
        let report = try torture.run()
        return Outcome(report, versions: [Version.ofSubject(subject, in: workspace)])
    }

    private func run() throws -> TortureReport {
        let start = MonotonicTime.now
        var report = TortureReport(options: options)
        var files: [TorturedFile] = []
        var count = 0
        defer { for file in files { file.abandon() } }
        // New files are started while kills remain; the last ones finish undisturbed.
        while report.kills < options.kills || !files.isEmpty {
            while report.kills < options.kills, files.count < options.jobs {
                files.append(try makeFile(count))
                count += 1
            }
            for index in files.indices.reversed() {
                let mayKill = report.kills < options.kills
                try files[index].step(&report, mayKill: mayKill)
                if files[index].isDone { files.remove(at: index) }
            }
            try Signals.check()
            usleep(3_000)
        }
        report.deliveries = server.deliveries
        report.seconds = MonotonicTime.now - start
        return report
    }

    private func makeFile(_ number: Int) throws -> TorturedFile {
        let behaviours = HostileServer.Behaviour.allCases
        let directory = "\(workspace.output)/\(number)"
        try FileSystem.makeDirectory(directory)
        return TorturedFile(
            number: number,
            behaviour: behaviours[number % behaviours.count],
            directory: directory,
            torture: self
        )
    }
}
