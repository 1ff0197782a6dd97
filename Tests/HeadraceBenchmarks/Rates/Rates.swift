import HeadracePlatform

/// The verb `rates`: how accurately the tool keeps a rate limit, and the CPU time that takes.
enum Rates {
    static func main(_ options: RatesOptions) throws -> Outcome {
        let subject = try Comparison.subject(options.subject)
        Signals.block()
        let workspace = try Workspace(in: options.directory)
        defer { workspace.remove() }
        let most = (options.rates.max() ?? 0) * (options.seconds + 2 * RatesRun.warmUp)
        try workspace.requireSpace(most)
        let server = try OriginServer.start(.automatic, isTLSWanted: false, in: workspace)
        defer { server.stop() }
        try makeFiles(options.connections.max() ?? 1, size: 2 * most, in: workspace)
        var report = RatesReport(options: options, server: server.description)
        for rate in options.rates {
            for connections in options.connections {
                Console.error("\(RatesReport.rate(rate)) over \(connections) for \(options.seconds) s ...")
                let run = RatesRun(
                    rate: rate,
                    connections: connections,
                    seconds: options.seconds,
                    subject: subject,
                    server: server,
                    workspace: workspace
                )
                report.results.append(try run.run())
            }
        }
        return Outcome(report, versions: [Version.ofSubject(subject, in: workspace)], isStrict: options.isStrict)
    }

    /// Makes one sparse file with many names, because its content is not checked.
    private static func makeFiles(_ count: Int, size: Int, in workspace: Workspace) throws {
        let first = workspace.site + "/0"
        try FileSystem.write("", to: first)
        guard truncate(first, off_t(size)) == 0, chmod(first, 0o644) == 0 else {
            throw BenchmarkError.system("cannot make \(first)")
        }
        for number in 1..<max(2, count) {
            guard link(first, workspace.site + "/\(number)") == 0 else {
                throw BenchmarkError.system("cannot make another name for \(first)")
            }
        }
    }
}
