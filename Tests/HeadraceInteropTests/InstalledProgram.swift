import Foundation
import HeadraceTestSupport

/// An executable installed from a distribution's package.
struct InstalledProgram {
    let name: String

    private var path: String {
        get throws {
            let places = ["/usr/sbin/", "/usr/bin/", "/usr/local/bin/"].map { $0 + name }
            guard let path = places.first(where: FileManager.default.isExecutableFile) else {
                throw InteropFailure(
                    "\(name) is not installed: Debian has nginx-light, apache2-bin, caddy and tinyproxy-bin."
                )
            }
            return path
        }
    }

    /// Returns the first line of the program's version output.
    func version(_ argument: String = "-v") async throws -> String {
        try await withTemporaryDirectory { folder in
            let log = Self.log(in: folder)
            var process = try ChildProcess(
                [try path, argument],
                environment: ["HOME=\(folder.path)"],
                streams: ["/dev/null", log.path, log.path]
            )
            _ = try await process.waitForEnd()
            return try String(contentsOf: log, encoding: .utf8).split(separator: "\n").first.map(String.init) ?? ""
        }
    }

    /// Starts the program, with its output in a file in the folder.
    func start(_ arguments: [String], in folder: URL) throws -> ChildProcess {
        let log = Self.log(in: folder).path
        return try ChildProcess(
            // If the tests are killed, the program ends after ten minutes at the latest.
            ["/usr/bin/timeout", "-s", "KILL", "600", try path] + arguments,
            environment: ["HOME=\(folder.path)", "PATH=/usr/bin:/bin"],
            streams: ["/dev/null", log, log]
        )
    }

    static func log(in folder: URL) -> URL { folder.appending(path: "log") }
}

struct InteropFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
