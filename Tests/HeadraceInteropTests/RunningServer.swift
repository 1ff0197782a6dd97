import Foundation
import HeadraceTestSupport

/// A web server that answers.
struct RunningServer: Sendable {
    let site: URL
    let authority: URL
    private let place: WebServer.Place

    fileprivate init(_ place: WebServer.Place, authority: URL) {
        self.place = place
        self.authority = authority
        site = place.folder.appending(path: "site")
    }

    func url(_ path: String, isEncrypted: Bool) throws -> URL {
        let authority = isEncrypted ? "https://127.0.0.1:\(place.tlsPort)" : "http://127.0.0.1:\(place.port)"
        guard let url = URL(string: authority + path) else { throw InteropFailure("\(path) is no path") }
        return url
    }
}

struct InteropFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

extension WebServer {
    /// Runs the body while the server runs, with files of its own.
    func run<Result>(
        _ files: [String: Response.Body],
        _ body: (RunningServer) async throws -> Result
    ) async throws -> Result {
        try await withTemporaryDirectory { folder in
            let ports = try FreePorts.two()
            let place = Place(folder: folder, port: ports.0, tlsPort: ports.1)
            let authority = try prepare(place, files)
            let process = try start(in: folder)
            defer {
                process.terminate()
                process.waitUntilExit()
            }
            for port in [place.port, place.tlsPort] {
                try await FreePorts.waitForListener(at: port) {
                    guard process.isRunning else { throw InteropFailure("\(name) has ended; it said what is above") }
                }
            }
            return try await body(RunningServer(place, authority: authority))
        }
    }

    /// The first line that the server tells of its version; nil where it is not installed.
    var version: String? {
        guard let executable else { return nil }
        let process = Process()
        process.executableURL = executable
        process.arguments = versionArguments
        let pipe = Pipe()
        (process.standardOutput, process.standardError) = (pipe, pipe)
        guard (try? process.run()) != nil else { return nil }
        let output = try? pipe.fileHandleForReading.readToEnd()
        process.waitUntilExit()
        return output.flatMap { String(decoding: $0, as: UTF8.self).split(separator: "\n").first.map(String.init) }
    }

    private var executable: URL? {
        ["/usr/sbin/", "/usr/bin/", "/usr/local/bin/"].map { $0 + name }
            .first(where: FileManager.default.isExecutableFile).map { URL(filePath: $0) }
    }

    /// Writes all that the server reads, for another user to be able to; returns the authority to trust.
    private func prepare(_ place: Place, _ files: [String: Response.Body]) throws -> URL {
        let manager = FileManager.default
        let open: [FileAttributeKey: Any] = [.posixPermissions: 0o755]
        try manager.setAttributes(open, ofItemAtPath: place.path)
        for name in ["site/private", "temporary"] {
            try manager.createDirectory(
                at: place.folder.appending(path: name),
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: name == "temporary" ? 0o777 : 0o755]
            )
        }
        for (name, body) in files {
            try body.data.write(to: place.folder.appending(path: "site/\(name)"))
        }
        let texts = [
            "certificate.pem": TestCertificate.trusted.pem, "key.pem": TestCertificate.privateKey,
            // user and secret, by SHA-1, which nginx and Apache both know.
            "users": "user:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n", "configuration": configuration(place),
        ]
        for (name, text) in texts { try Data(text.utf8).write(to: place.folder.appending(path: name)) }
        return try TestCertificate.writeAuthority(in: place.folder)
    }

    private func start(in folder: URL) throws -> Process {
        guard let executable else { throw InteropFailure("\(name) is not installed") }
        let process = Process()
        process.executableURL = executable
        process.arguments = arguments.map { $0 == "configuration" ? folder.appending(path: $0).path : $0 }
        process.currentDirectoryURL = folder
        process.environment = ["HOME": folder.path, "PATH": "/usr/bin:/bin"]
        try process.run()
        return process
    }
}

extension Response.Body {
    /// All bytes.
    var data: Data {
        switch self {
        case .bytes(let bytes): Data(bytes)
        case .pattern(let pattern, let range): Data(pattern.bytes(in: range))
        }
    }
}
