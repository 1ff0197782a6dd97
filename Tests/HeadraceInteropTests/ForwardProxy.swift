import Foundation
import Headrace
import HeadraceTestSupport
import Testing

/// tinyproxy on a loopback port, with the user `user` and the password `secret`.
struct ForwardProxy {
    static let program = InstalledProgram(name: "tinyproxy")

    private let folder: URL
    private let port: Int

    /// Runs the body while the proxy runs, once the server is reachable through it.
    static func run<Result>(
        before server: RunningServer,
        _ body: (ForwardProxy) async throws -> Result
    ) async throws -> Result {
        try await withTemporaryDirectory { folder in
            var attempt = 0
            while true {
                attempt += 1
                let proxy = ForwardProxy(folder: folder, port: .random(in: 30_000..<32_000))
                let configuration = folder.appending(path: "configuration")
                try Data(proxy.configuration.utf8).write(to: configuration)
                var process = try program.start(["-d", "-c", configuration.path], in: folder)
                defer { process.stop() }
                do {
                    try await proxy.waitUntilItAnswers(before: server, process: &process)
                } catch  where attempt < 3 {
                    // Another process may use the port.
                    continue
                }
                return try await body(proxy)
            }
        }
    }

    private var configuration: String {
        """
        Listen 127.0.0.1
        Port \(port)
        Timeout 60
        MaxClients 100
        LogLevel Connect
        BasicAuth user secret

        """
    }

    /// Returns a manager's settings for the proxy; every password except `secret` is wrong.
    func settings(password: String = "secret") throws -> DownloadConfiguration.Proxy {
        .url(try #require(URL(string: "http://user:\(password)@127.0.0.1:\(port)")))
    }

    /// The logged requests, such as `GET http://127.0.0.1:8080/file.bin` and `CONNECT 127.0.0.1:8443`.
    var requests: [String] {
        get throws {
            let text = try String(contentsOf: InstalledProgram.log(in: folder), encoding: .utf8)
            return text.matches(of: /Request \(.*?\): (.*) HTTP\//).map { String($0.1) }
        }
    }

    private func waitUntilItAnswers(before server: RunningServer, process: inout ChildProcess) async throws {
        let settings = try settings()
        try await process.wait(for: "tinyproxy", in: folder) {
            try await server.download("empty.bin", .http1, configure: { $0.proxy = settings }) {
                _ = try await $0.value
            }
        }
    }
}

extension ChildProcess {
    /// Retries until `attempt` succeeds; after 30 s or the process's end, throws an error with its output.
    mutating func wait(for name: String, in folder: URL, _ attempt: () async throws -> Void) async throws {
        let deadline = ContinuousClock.now + .seconds(30)
        while true {
            do {
                return try await attempt()
            } catch {
                guard poll() == nil, ContinuousClock.now < deadline else {
                    let said = (try? String(contentsOf: InstalledProgram.log(in: folder), encoding: .utf8)) ?? ""
                    throw InteropFailure("\(name) does not answer: \(error)\n\(said)")
                }
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    }
}
