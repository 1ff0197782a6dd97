/// The fallback if nginx is not installed: this executable again, as a server process.
enum LoopbackServer {
    static func start(in workspace: Workspace) throws -> OriginServer {
        let port = try Loopback.freePort()
        let log = workspace.scratch + "/server.log"
        let process = try ChildProcess.spawn(
            Command(executable: FileSystem.ownExecutable, arguments: ["serve", workspace.site, "\(port)"]),
            home: workspace.home,
            log: log
        )
        try OriginServer.awaitPort(port, of: process, log: log)
        return OriginServer(
            description: "headrace-bench serve (thread per connection, sendfile)",
            process: process,
            httpPort: port,
            tlsPort: nil,
            authority: nil,
            tlsObstacle: "TLS needs nginx, which is not installed or not chosen"
        )
    }
}
