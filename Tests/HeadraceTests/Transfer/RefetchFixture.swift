import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// A folder, a server, and repeated downloads of one file.
struct RefetchFixture {
    static let old = Resource(size: 5000, seed: 1, etag: "\"v1\"")
    static let new = Resource(size: 5000, seed: 2, etag: "\"v2\"")

    /// The outcome of one download.
    struct Outcome {
        var file: URL?
        var error: DownloadError?
        var events: [DownloadEvent]

        var isUnchanged: Bool {
            guard let file, error == nil, !isFinished else { return false }
            return events.filter { $0 == .unchanged(file) }.count == 1
        }

        var isFinished: Bool { events.contains { if case .finished = $0 { true } else { false } } }
    }

    /// A change that another process makes to a finished file.
    enum Change: CaseIterable {
        case writesTheSameSize
        case appends
        case touches
        case replaces
        case spoilsTheNote
    }

    /// Whether the temporary folder's file system supports extended attributes.
    static let keepsAttributes: Bool = {
        let path = FileManager.default.temporaryDirectory.path + "/headrace-\(UUID().uuidString)"
        guard let file = try? FileSystem.system.create(path) else { return false }
        defer {
            try? FileSystem.system.close(file)
            try? FileSystem.system.remove(path)
        }
        return (try? FileSystem.system.setAttribute(file, SavedValidator.attribute, [1])) != nil
    }()

    let folder: URL
    let server: FaultServer

    static func run(
        _ response: Response,
        in folder: URL? = nil,
        _ body: (RefetchFixture) async throws -> Void
    ) async throws {
        try await withFaultServer(response) { server in
            if let folder { return try await body(RefetchFixture(folder: folder, server: server)) }
            try await withTemporaryDirectory { try await body(RefetchFixture(folder: $0, server: server)) }
        }
    }

    var url: URL { server.url("/file.bin") }
    var file: URL { folder.appending(path: "file.bin") }

    var names: [String] {
        get throws { try FileProbe.names(in: folder) }
    }

    var stamp: FileStamp {
        get throws { FileStamp(try #require(try FileSystem.system.status(file.path))) }
    }

    /// The preconditions that were sent.
    var conditions: [String] {
        server.requests.compactMap { $0["If-None-Match"] ?? $0["If-Modified-Since"] }
    }

    func holds(_ resource: Resource) -> Bool { resource.body.difference(fromFileAt: file) == nil }

    /// Downloads the file with a new manager.
    func fetch(
        retrying retryPolicy: RetryPolicy = .none,
        _ change: (inout DownloadRequest) -> Void = { _ in }
    ) async throws -> Outcome {
        try await withDownloadManager(DownloadConfiguration { $0.retryPolicy = retryPolicy }) { manager in
            var request = DownloadRequest(url, to: .file(file), conflictPolicy: .rename)
            request.refetchPolicy = .ifChanged
            change(&request)
            return try await Self.outcome(of: try await manager.download(request))
        }
    }

    static func outcome(of download: Download) async throws -> Outcome {
        var outcome = Outcome(events: [])
        for await event in download.events { outcome.events.append(event) }
        do {
            outcome.file = try await download.value
        } catch let error as DownloadError {
            outcome.error = error
        }
        return outcome
    }

    func apply(_ change: Change) throws {
        let (bytes, seconds) = (try FileProbe.bytes(of: file), try stamp.modified / 1_000_000_000)
        switch change {
        case .writesTheSameSize: try write(bytes.reversed()) { _ in }
        case .appends: try write(bytes + [0]) { _ in }
        case .touches: try write(bytes) { try FileSystem.system.setModified($0, 1_000_000_000) }
        case .replaces:
            try write(bytes.reversed(), replacing: true) { try FileSystem.system.setModified($0, seconds) }
        case .spoilsTheNote:
            try write(bytes) {
                try FileSystem.system.setAttribute($0, SavedValidator.attribute, Array("2".utf8))
                try FileSystem.system.setModified($0, seconds)
            }
        }
    }

    /// Writes the file, and calls `then` while it is open.
    func write(_ bytes: [UInt8], replacing: Bool = false, _ then: (Int32) throws -> Void) throws {
        if replacing { try? FileSystem.system.remove(file.path) }
        let open = try replacing ? FileSystem.system.create(file.path) : FileSystem.system.open(file.path)
        defer { try? FileSystem.system.close(open) }
        try FileSystem.system.writeAll(open, bytes)
        try then(open)
    }
}
