import Foundation
import HeadraceTestSupport

/// An executable as a distribution has it.
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

    /// The first line that the program tells of its version.
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

    /// Starts it, with what it says in a file of the folder.
    func start(_ arguments: [String], in folder: URL) throws -> ChildProcess {
        let log = Self.log(in: folder).path
        return try ChildProcess(
            // Should the tests be killed, then it does not outlive them for long.
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
