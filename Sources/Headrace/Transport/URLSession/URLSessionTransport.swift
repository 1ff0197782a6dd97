#if canImport(Darwin) || URLSession
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The `URLSession` transport: data tasks with the session's redirects, cookies, authentication and caching disabled.
final class URLSessionTransport: Transport {
    /// The timeout for `URLSession`, in seconds: a year, because the library enforces its own timeouts.
    private static let longestTime: TimeInterval = 365 * 24 * 3600
    /// The maximum number of connections per host for `URLSession`; the manager applies its own limit.
    private static let maxConnectionsPerHost = 4096

    private let settings: URLSessionConfiguration
    private let routeWithoutProxy: URLSessionRoute
    private let hasOwnAuthorities: Bool
    private let userAgent: String
    private let eventHandler: URLSessionEventHandler
    private let pool = ChunkPool()
    private let budget = BufferBudget()
    /// The session of each route in use; `nil` after the shutdown.
    private let sessions = Locked<[URLSessionRoute: URLSession]?>([:])

    /// Creates a transport.
    /// - Parameters:
    ///   - configuration: The settings for all transfers.
    ///   - base: The session configuration for settings that the library does not override.
    /// - Throws: `invalidRequest` for unsupported settings, `tls` if the authorities cannot be read.
    init(
        _ configuration: DownloadConfiguration,
        on base: URLSessionConfiguration = .ephemeral
    ) throws(DownloadError) {
        let environment = ProcessInfo.processInfo.environment
        try URLSessionCapabilities.current.validate(configuration, environment: environment)
        routeWithoutProxy = try .withoutProxy(configuration, environment: environment)
        hasOwnAuthorities = configuration.certificateAuthorities != nil
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
        eventHandler = URLSessionEventHandler(try ServerTrust(configuration))
        #else
        eventHandler = URLSessionEventHandler()
        #endif
        self.settings = settings
        userAgent = configuration.userAgent
    }

    deinit {
        for session in takeSessions() { eventHandler.end(session) }
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
        sessions.withLock { sessions in
            guard let old = sessions else { return }
            for session in old.values { eventHandler.end(session, finishingTasks: true) }
            sessions = [:]
        }
    }

    func shutdown() async {
        for session in takeSessions() { eventHandler.end(session) }
        eventHandler.cancelAllTasks()
        await eventHandler.waitUntilAllEnded()
    }

    /// Starts a task; fails the stream and returns `nil` after the shutdown, or if the proxy cannot be set.
    private func start(_ request: TransportRequest, _ stream: ResponseStream) -> URLSessionTransfer? {
        // The lock excludes a concurrent shutdown, after which the session would accept no tasks.
        let route = request.proxy.map(URLSessionRoute.proxy) ?? routeWithoutProxy
        let task = sessions.withLock { sessions -> URLSessionDataTask? in
            guard sessions != nil, let session = sessions?[route] ?? open(route) else { return nil }
            sessions?[route] = session
            return session.dataTask(with: URLRequest(request, userAgent: userAgent, timeout: Self.longestTime))
        }
        guard let task else {
            stream.fail(.shutDown())
            return nil
        }
        let transfer = URLSessionTransfer(task, request, stream, hasOwnAuthorities: hasOwnAuthorities)
        eventHandler.begin(transfer)
        return transfer
    }

    private func open(_ route: URLSessionRoute) -> URLSession? {
        #if canImport(Darwin)
        settings.routed(route).map(eventHandler.open)
        #else
        eventHandler.open(settings)
        #endif
    }

    private func takeSessions() -> [URLSession] {
        sessions.withLock { sessions in
            defer { sessions = nil }
            return sessions.map { Array($0.values) } ?? []
        }
    }
}

extension URLRequest {
    /// Creates the system's request.
    ///
    /// Sets its timeout, in seconds, because the default of a minute would override the session's timeout.
    fileprivate init(_ request: TransportRequest, userAgent: String, timeout: TimeInterval) {
        self.init(url: request.url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: timeout)
        httpShouldHandleCookies = false
        httpMethod = request.method
        httpBody = request.body.map { Data($0) }
        for field in request.fields.withDefaults(userAgent: userAgent) {
            addValue(field.value, forHTTPHeaderField: field.name)
        }
    }
}
#endif
