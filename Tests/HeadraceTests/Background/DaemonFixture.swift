import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// A background session without Apple's system: its tasks outlive managers and end when the test decides.
final class Daemon: BackgroundSystem {
    struct Made: Sendable {
        let request: BackgroundRequest
        let description: String
        let resumeData: [UInt8]?
        var isRunning = false
        var isCancelled = false
    }

    private struct State {
        var claims = BackgroundClaims()
        var transfers: BackgroundTransfers?
        var made: [Made] = []
        /// The tasks reported to the next manager.
        var alive: Set<Int> = []
        /// The closures that receive the resume data of cancelled tasks.
        var publishers: [Int: @Sendable ([UInt8]?) -> Void] = [:]
    }

    private let state = Locked(State())

    var made: [Made] { state.withLock { $0.made } }
    var transfers: BackgroundTransfers? { state.withLock { $0.transfers } }

    // MARK: BackgroundSystem

    func claim() throws(DownloadError) {
        try state.withLock { state throws(DownloadError) in try state.claims.claim("session") }
    }

    func leave() { state.withLock { $0.claims.release("session") } }

    func connect(to transfers: BackgroundTransfers) {
        let alive = state.withLock { state in
            state.transfers = transfers
            return state.alive.sorted().compactMap { BackgroundTask($0, description: state.made[$0].description) }
        }
        transfers.listed(alive.map { ($0, 10) })
    }

    func makeTask(_ request: BackgroundRequest, description: String, from resumeData: [UInt8]?) -> Int {
        state.withLock { state in
            state.made.append(Made(request: request, description: description, resumeData: resumeData))
            state.alive.insert(state.made.count - 1)
            return state.made.count - 1
        }
    }

    func resume(_ number: Int) { state.withLock { $0.made[number].isRunning = true } }

    func cancel(_ number: Int) {
        state.withLock { state in
            state.made[number].isCancelled = true
            state.alive.remove(number)
        }
    }

    /// The test delivers the resume data with ``end(_:code:resumeData:)`` or ``publish(_:ofTask:)``.
    func cancel(_ number: Int, producing publish: @escaping @Sendable ([UInt8]?) -> Void) {
        cancel(number)
        state.withLock { $0.publishers[number] = publish }
    }

    // MARK: The test

    /// Delivers the resume data of a task that was cancelled for it.
    func publish(_ resumeData: [UInt8]?, ofTask number: Int) {
        state.withLock { $0.publishers.removeValue(forKey: number) }?(resumeData)
    }

    /// Returns when this many tasks have been resumed.
    func runs(_ count: Int) async throws {
        while made.count(where: \.isRunning) < count { try await Task.sleep(for: .milliseconds(2)) }
    }

    func task(_ number: Int) throws -> BackgroundTask {
        try #require(BackgroundTask(number, description: made[number].description))
    }

    /// Ends a task with a file from the system, which is removed afterwards.
    func finish(
        _ number: Int,
        _ bytes: [UInt8],
        status: Int = 200,
        _ fields: [(String, String)] = [],
        in folder: URL
    ) throws {
        let file = folder.appending(path: "CFNetworkDownload_\(number).tmp")
        try Data(bytes).write(to: file)
        let url = made[number].request.url
        let fields = fields.isEmpty ? [("Content-Length", "\(bytes.count)")] : fields
        let head = ResponseHead(url: url, status: status, fields: fields.map { HeaderField(name: $0.0, value: $0.1) })
        state.withLock { _ = $0.alive.remove(number) }
        transfers?.finished(try task(number), file: file.path, head: head)
        try? FileManager.default.removeItem(at: file)
        transfers?.completed(try task(number), nil, resumeData: nil, receivedBytes: Int64(bytes.count))
    }

    /// Ends a task with an error from the system.
    func end(_ number: Int, code: Int, resumeData: [UInt8]?, receivedBytes: Int64 = 20) throws {
        state.withLock { _ = $0.alive.remove(number) }
        transfers?.completed(
            try task(number),
            BackgroundFailure(domain: "NSURLErrorDomain", code: code, text: "The network connection was lost."),
            resumeData: resumeData,
            receivedBytes: receivedBytes
        )
    }

    /// Runs a manager that uses the session and a registry in a folder.
    func withManager(
        _ folder: URL,
        files: FileSystem = .system,
        configure: (inout DownloadConfiguration) -> Void = { _ in },
        _ body: (DownloadManager) async throws -> Void
    ) async throws {
        var configuration = DownloadConfiguration {
            $0.registryDirectory = folder.appending(path: "registry", directoryHint: .isDirectory)
            $0.retryPolicy.baseDelay = .zero
            $0.retryPolicy.maxRetriesPerHostAndMinute = nil
        }
        configure(&configuration)
        let manager = try await DownloadManager(
            environment: TransferEnvironment(
                configuration: configuration,
                transport: NoTransport(),
                files: files,
                clock: AnyClock(ContinuousClock())
            ),
            background: self
        )
        do {
            try await body(manager)
            await manager.shutdown()
        } catch {
            await manager.shutdown()
            throw error
        }
    }

    static func request(in folder: URL, _ name: String = "a.bin") throws -> DownloadRequest {
        var request = DownloadRequest(try #require(URL(string: "https://example.org/\(name)")), to: .directory(folder))
        request.refetchPolicy = .always
        return request
    }

    static func restarts(of download: Download) async -> [RestartReason] {
        var reasons: [RestartReason] = []
        for await event in download.events {
            if case .restarted(let reason, _) = event { reasons.append(reason) }
        }
        return reasons
    }
}
