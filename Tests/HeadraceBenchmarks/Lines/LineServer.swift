import HeadracePlatform

/// nginx at the far end of a line.
struct LineServer {
    let version: String
    /// The certificate that signed the server's.
    let authority: String
    private let process: ChildProcess

    static func start(at ends: LineEnds, certificate: Certificate) throws -> LineServer {
        let workspace = ends.workspace
        guard let nginx = FileSystem.find("nginx") else { throw BenchmarkError("nginx is not installed") }
        let configuration = workspace.scratch + "/line.conf"
        let listeners = LineScene.Scheme.allCases.map { scheme in
            NginxServer.Listener(
                address: LineSystem.farAddress,
                port: scheme.port,
                certificate: scheme.isEncrypted ? certificate : nil,
                isHTTP2: scheme == .http2
            )
        }
        try FileSystem.write(NginxServer.configuration(listeners, in: workspace), to: configuration)
        let log = workspace.scratch + "/nginx.log"
        let version = Version.of(nginx, flag: "-v", in: workspace).replacing("nginx version: ", with: "")
        let command = Command(executable: nginx, arguments: ["-p", workspace.scratch, "-c", configuration])
        let process = try ChildProcess.spawn(ends.far(command), home: workspace.home, log: log)
        for listener in listeners {
            try OriginServer.awaitPort(listener.port, at: listener.address, of: process, log: log)
        }
        return LineServer(version: version, authority: certificate.authority, process: process)
    }

    func stop() {
        process.stop()
    }

    func url(for path: String, _ scheme: LineScene.Scheme) -> String {
        "\(scheme.isEncrypted ? "https" : "http")://\(LineSystem.farAddress):\(scheme.port)/\(path)"
    }
}

extension LineScene.Scheme {
    /// No other program listens in the namespace.
    fileprivate var port: UInt16 {
        switch self {
        case .http: 8080
        case .https: 8443
        case .http2: 8444
        }
    }
}
