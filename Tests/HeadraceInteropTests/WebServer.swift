import Foundation
import HeadraceTestSupport
import Testing

/// A web server from a distribution's package, named by its executable.
enum WebServer: String, CaseIterable, CustomTestStringConvertible {
    case nginx
    case apache2
    case caddy

    /// The protocol between the client and the server.
    enum Wire: Int, CaseIterable, CustomTestStringConvertible {
        case http1
        case http1OverTLS
        case http2

        var testDescription: String { "\(self)" }
    }

    var testDescription: String { rawValue }

    private var program: InstalledProgram { InstalledProgram(name: rawValue) }

    /// Returns the first line of the server's version output.
    func version() async throws -> String {
        try await program.version(self == .caddy ? "version" : "-v")
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
                    // Another process may use a port.
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
        return try program.start(arguments, in: folder)
    }
}
