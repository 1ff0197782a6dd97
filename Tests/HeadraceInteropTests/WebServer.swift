import Foundation
import HeadraceTestSupport
import Testing

/// A web server as a distribution has it, by the name of its executable.
enum WebServer: String, CaseIterable, CustomTestStringConvertible {
    case nginx
    case apache2
    case caddy

    /// How a client talks to it.
    enum Wire: Int, CaseIterable, CustomTestStringConvertible {
        case http1
        case http1OverTLS
        case http2

        var testDescription: String { "\(self)" }
    }

    var testDescription: String { rawValue }

    /// The first line that the server tells of its version.
    func version() async throws -> String {
        try await withTemporaryDirectory { folder in
            let log = folder.appending(path: "log")
            var process = try ChildProcess(
                [try executable, self == .caddy ? "version" : "-v"],
                environment: ["HOME=\(folder.path)"],
                streams: ["/dev/null", log.path, log.path]
            )
            _ = try await process.waitForEnd()
            return try String(contentsOf: log, encoding: .utf8).split(separator: "\n").first.map(String.init) ?? ""
        }
    }

    /// Runs the body while the server runs.
    func run<Result>(_ body: (RunningServer) async throws -> Result) async throws -> Result {
        try await withTemporaryDirectory { folder in
            var attempt = 0
            while true {
                attempt += 1
                let server = try RunningServer(self, in: folder)
                var process = try start(in: folder)
                defer { process.stop() }
                do {
                    try await server.waitUntilItAnswers(process: &process)
                } catch  where attempt < 3 {
                    // Somebody else may have a port.
                    continue
                }
                return try await body(server)
            }
        }
    }

    private func start(in folder: URL) throws -> ChildProcess {
        let configuration = folder.appending(path: "configuration").path
        let arguments =
            switch self {
            case .nginx: ["-c", configuration, "-p", folder.path]
            case .apache2: ["-f", configuration, "-d", folder.path, "-DFOREGROUND"]
            case .caddy: ["run", "--config", configuration, "--adapter", "caddyfile"]
            }
        let log = RunningServer.log(in: folder).path
        return try ChildProcess(
            // Should the tests be killed, then the server does not outlive them for long.
            ["/usr/bin/timeout", "-s", "KILL", "600", try executable] + arguments,
            environment: ["HOME=\(folder.path)", "PATH=/usr/bin:/bin"],
            streams: ["/dev/null", log, log]
        )
    }

    private var executable: String {
        get throws {
            let places = ["/usr/sbin/", "/usr/bin/", "/usr/local/bin/"].map { $0 + rawValue }
            guard let path = places.first(where: FileManager.default.isExecutableFile) else {
                throw InteropFailure("\(rawValue) is not installed: Debian has nginx-light, apache2-bin and caddy.")
            }
            return path
        }
    }
}

struct InteropFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
