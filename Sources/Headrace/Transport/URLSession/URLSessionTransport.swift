#if canImport(Darwin) || URLSession
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The `URLSession` transport: data tasks without its redirects, cookies, authentication and caching.
final class URLSessionTransport: Transport {
    /// The library has its own timeouts; `URLSession` requires some.
    private static let longestTime: TimeInterval = 365 * 24 * 3600
    /// The manager limits the connections per host.
    private static let maxConnectionsPerHost = 4096

    private let settings: URLSessionConfiguration
    private let userAgent: String
    private let eventHandler: URLSessionEventHandler
    private let pool = ChunkPool()
    private let budget = BufferBudget()
    /// The current session; `nil` after the shutdown.
    private let session: Locked<URLSession?>

    /// Creates a session.
    /// - Parameters:
    ///   - configuration: The settings for all transfers.
    ///   - base: The session configuration for settings that the library does not override.
    /// - Throws: `invalidRequest` for unsupported settings, `tls` if the authorities cannot be read.
    init(
        _ configuration: DownloadConfiguration,
        on base: URLSessionConfiguration = .ephemeral
    ) throws(DownloadError) {
        try URLSessionCapabilities.current.validate(configuration, environment: ProcessInfo.processInfo.environment)
        guard base.identifier == nil, let settings = base.copy() as? URLSessionConfiguration else {
            throw DownloadError(
                .invalidRequest,
                "A background configuration does not support data tasks; use a default or ephemeral one."
            )
        }
        settings.urlCache = nil
        settings.urlCredentialStorage = nil
        settings.httpCookieStorage = nil
        settings.httpShouldSetCookies = false
        settings.timeoutIntervalForRequest = Self.longestTime
        settings.timeoutIntervalForResource = Self.longestTime
        settings.httpMaximumConnectionsPerHost = Self.maxConnectionsPerHost
        #if canImport(Darwin)
        settings.waitsForConnectivity = false
        settings.tlsMinimumSupportedProtocolVersion = .TLSv12
        if configuration.proxy == .none { settings.connectionProxyDictionary = [:] }
        eventHandler = URLSessionEventHandler(try ServerTrust(configuration))
        #else
        eventHandler = URLSessionEventHandler()
        #endif
        self.settings = settings
        userAgent = configuration.userAgent
        session = Locked(eventHandler.open(settings))
    }

    deinit {
        if let session = session.withLock({ $0.take() }) { eventHandler.end(session) }
    }

    func perform<Result: Sendable>(
        _ request: TransportRequest,
        _ receive: (ResponseHead, inout ResponseBody) async throws -> Result
    ) async throws -> Result {
        try URLSessionCapabilities.current.validate(request)
        let share = budget.admit()
        let stream = ResponseStream(highWatermark: share, pool: pool, buffering: request.bufferBytes)
        defer {
            stream.close()
            budget.dismiss(share)
        }
        return try await withTaskCancellationHandler {
            try await withThrowingTaskGroup(of: Void.self) { group in
                if let transfer = start(request, stream) {
                    group.addTask { [eventHandler] in
                        guard let error = await transfer.stall() else { return }
                        stream.fail(error)
                        eventHandler.cancel(transfer.task)
                    }
                }
                defer { group.cancelAll() }
                let head = try await stream.nextHead()
                var body = ResponseBody(stream)
                return try await receive(head, &body)
            }
        } onCancel: {
            stream.close()
        }
    }

    func dropIdleConnections() {
        session.withLock { session in
            guard let old = session else { return }
            session = eventHandler.open(settings)
            eventHandler.end(old, finishingTasks: true)
        }
    }

    func shutdown() async {
        if let session = session.withLock({ $0.take() }) { eventHandler.end(session) }
        await eventHandler.waitUntilAllEnded()
    }

    /// Starts a task; after the shutdown, fails the stream and returns `nil`.
    private func start(_ request: TransportRequest, _ stream: ResponseStream) -> URLSessionTransfer? {
        // Under the lock, because an invalidated session accepts no tasks.
        let task = session.withLock { $0?.dataTask(with: URLRequest(request, userAgent: userAgent)) }
        guard let task else {
            stream.fail(.shutDown())
            return nil
        }
        let transfer = URLSessionTransfer(task, request, stream)
        eventHandler.begin(transfer)
        return transfer
    }
}

extension URLRequest {
    fileprivate init(_ request: TransportRequest, userAgent: String) {
        self.init(url: request.url, cachePolicy: .reloadIgnoringLocalCacheData)
        httpShouldHandleCookies = false
        for field in request.fields.withDefaults(userAgent: userAgent) {
            addValue(field.value, forHTTPHeaderField: field.name)
        }
    }
}
#endif
