import Foundation
import Headrace
import HeadraceTestSupport
import Testing

/// A web server for a folder of files, on loopback ports.
struct RunningServer: Sendable {
    static let file = Resource(size: 6 << 20, seed: 3).body
    static let empty = Resource(size: 0).body
    static let page = Response.Body.bytes(Array(String(repeating: "<p>The same again.</p>\n", count: 10_000).utf8))
    /// A host of nginx with its own certificate.
    static let name = "example.org"
    /// The `Authorization` value for `user` and `secret`.
    static let login = "Basic dXNlcjpzZWNyZXQ="

    /// The files that all tests find; they were last modified long ago.
    private static let files = [
        "file.bin": file, "private/file.bin": file, "dated/file.bin": file, "a file, and more.bin": file,
        "packed.gz": file, "page.html": page, "empty.bin": empty,
    ]

    let kind: WebServer
    let folder: URL
    /// The PEM file with the certificate authority to trust.
    let authority: URL
    private let firstPort: Int

    /// Writes the server's files, readable by other users.
    init(_ kind: WebServer, in folder: URL) throws {
        self.kind = kind
        self.folder = folder
        // Below the range from which the system assigns ports automatically.
        firstPort = .random(in: 20_000..<30_000)
        authority = try TestCertificate.writeAuthority(in: folder)
        let manager = FileManager.default
        try manager.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path)
        for (name, mode) in [
            ("site/private", 0o755), ("site/dated", 0o755), ("temporary", 0o777), ("expired", 0o755),
        ] {
            let path = folder.appending(path: name).path
            try manager.createDirectory(atPath: path, withIntermediateDirectories: true)
            try manager.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        }
        let texts = [
            "certificate.pem": TestCertificate.trusted.pem, "key.pem": TestCertificate.privateKey,
            "named.pem": TestCertificate.wrongHost.pem,
            // A SHA-1 hash, which both nginx and Apache support.
            "users": "user:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n",
            // The MD5 hash of `user:test:secret`.
            "digests": "user:test:eb6bcbb0c2554806d2927bb62248105a\n", "configuration": configuration,
        ]
        for (name, text) in texts { try Data(text.utf8).write(to: folder.appending(path: name)) }
        for (path, body) in Self.files { try put(body, at: path, hoursAgo: 2) }
    }

    /// Replaces the content at a path of the site atomically.
    func put(_ body: Response.Body, at path: String, hoursAgo: Double = 1) throws {
        let (new, place) = (folder.appending(path: "new-\(UUID())"), folder.appending(path: "site/\(path)"))
        try body.data.write(to: new)
        let attributes: [FileAttributeKey: Any] = [
            .posixPermissions: 0o644, .modificationDate: Date(timeIntervalSinceNow: -3600 * hoursAgo),
        ]
        try FileManager.default.setAttributes(attributes, ofItemAtPath: new.path)
        guard rename(new.path, place.path) == 0 else { throw InteropFailure("\(path) cannot be put: errno \(errno)") }
    }

    func port(_ wire: WebServer.Wire) -> Int { firstPort + wire.rawValue }

    /// The UNIX socket of nginx; another one for each attempt to start it.
    var socket: URL { folder.appending(path: "socket-\(firstPort)") }

    /// Makes nginx reject the links with this signature, which are `links/PATH?sig=SIGNATURE`.
    func expire(_ signature: String) throws {
        try Data().write(to: folder.appending(path: "expired/\(signature)"))
    }

    func url(_ path: String, _ wire: WebServer.Wire) throws -> URL {
        let scheme = wire == .http1 ? "http" : "https"
        return try #require(URL(string: "\(scheme)://127.0.0.1:\(port(wire))/\(path)"))
    }

    /// Repeats a download until the server responds.
    func waitUntilItAnswers(process: inout ChildProcess) async throws {
        for wire in WebServer.Wire.allCases {
            try await process.wait(for: kind.rawValue, in: folder) {
                try await download("empty.bin", wire) { _ = try await $0.value }
            }
        }
    }

    /// Downloads a path into the given directory, or into a temporary one.
    func download<Result>(
        _ path: String,
        _ wire: WebServer.Wire,
        to destination: URL? = nil,
        configure: (inout DownloadConfiguration) -> Void = { _ in },
        change: (inout DownloadRequest) -> Void = { _ in },
        _ body: (Download) async throws -> Result
    ) async throws -> Result {
        guard let destination else {
            return try await withTemporaryDirectory {
                try await download(path, wire, to: $0, configure: configure, change: change, body)
            }
        }
        var request = DownloadRequest(try url(path, wire), to: .directory(destination))
        change(&request)
        return try await withManager(configure: configure) { manager in
            try await body(try await manager.download(request))
        }
    }

    /// Runs the body with a manager that trusts the server's certificates.
    func withManager<Result>(
        configure: (inout DownloadConfiguration) -> Void = { _ in },
        _ body: (DownloadManager) async throws -> Result
    ) async throws -> Result {
        var configuration = DownloadConfiguration {
            $0.certificateAuthorities = authority
            $0.retryPolicy = .none
            $0.durability = .none
        }
        configure(&configuration)
        return try await withDownloadManager(configuration) { try await body($0) }
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
