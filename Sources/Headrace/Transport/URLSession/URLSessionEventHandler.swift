#if canImport(Darwin) || URLSession
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The delegate of a transport's sessions, which forwards their events to the transfers on a separate queue.
final class URLSessionEventHandler: NSObject, URLSessionDataDelegate, Sendable {
    private struct State {
        var transfers: [ObjectIdentifier: URLSessionTransfer] = [:]
        /// The number of sessions that have not been invalidated yet.
        var openSessions = 0
        /// Whether the transport has been shut down, which cancels the tasks of its sessions.
        var isShutDown = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    /// The queue that runs delegate callbacks and resumes transfers, one operation at a time.
    private let deliveries = OperationQueue()
    /// The queue that cancels tasks and sessions; it is separate, because cancelling must not wait for deliveries.
    private let endings = OperationQueue()
    private let state = Locked(State())
    #if canImport(Darwin)
    private let trust: ServerTrust?
    private var evaluatesServers: Bool { trust != nil }

    init(_ trust: ServerTrust?) {
        self.trust = trust
        for queue in [deliveries, endings] { queue.maxConcurrentOperationCount = 1 }
    }
    #else
    private let evaluatesServers = false

    override init() {
        for queue in [deliveries, endings] { queue.maxConcurrentOperationCount = 1 }
    }
    #endif

    // MARK: The transport's side

    func open(_ settings: URLSessionConfiguration) -> URLSession {
        state.withLock { $0.openSessions += 1 }
        return URLSession(configuration: settings, delegate: self, delegateQueue: deliveries)
    }

    /// Invalidates a session asynchronously.
    ///
    /// If `finishingTasks` is `true`, lets the tasks of the session finish. Otherwise, cancels them and marks the
    /// transport as shut down.
    func end(_ session: URLSession, finishingTasks: Bool = false) {
        if !finishingTasks { state.withLock { $0.isShutDown = true } }
        endings.addOperation {
            if finishingTasks { session.finishTasksAndInvalidate() } else { session.invalidateAndCancel() }
        }
    }

    /// Cancels the tasks of all sessions, and marks the transport as shut down.
    ///
    /// This includes the tasks of sessions that were already ended with `finishingTasks`.
    func cancelAllTasks() {
        let transfers = state.withLock { state in
            state.isShutDown = true
            return Array(state.transfers.values)
        }
        endings.addOperation { for transfer in transfers { transfer.task.cancel() } }
    }

    func waitUntilAllEnded() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.openSessions > 0 { state.waiters.append(continuation) }
                return state.openSessions == 0
            }
            if isOver { continuation.resume() }
        }
    }

    func begin(_ transfer: URLSessionTransfer) {
        let id = ObjectIdentifier(transfer.task)
        state.withLock { $0.transfers[id] = transfer }
        transfer.task.resume()
        transfer.stream.connect(
            ResponseStream.Producer(
                resume: { [self] in deliveries.addOperation { self.transfer(id)?.resume() } },
                cancel: { [self, task = transfer.task] in cancel(task) }
            )
        )
    }

    func cancel(_ task: URLSessionTask) {
        // On Linux, the completion of a cancelled task may never be reported.
        _ = remove(ObjectIdentifier(task))
        endings.addOperation { task.cancel() }
    }

    private func transfer(_ id: ObjectIdentifier) -> URLSessionTransfer? {
        state.withLock { $0.transfers[id] }
    }

    private func remove(_ id: ObjectIdentifier) -> URLSessionTransfer? {
        state.withLock { $0.transfers.removeValue(forKey: id) }
    }

    // MARK: URLSessionDataDelegate

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        let waiters = state.withLock { state in
            state.openSessions -= 1
            guard state.openSessions == 0 else { return [CheckedContinuation<Void, Never>]() }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        // Delivers the redirect response itself; RedirectPolicy decides whether it is followed.
        completionHandler(nil)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let space = challenge.protectionSpace
        let response = URLSessionChallenge(
            method: space.authenticationMethod,
            isProxy: space.isProxy(),
            evaluatesServers: evaluatesServers
        )
        switch response {
        case .handleByDefault: completionHandler(.performDefaultHandling, nil)
        case .reject: completionHandler(.rejectProtectionSpace, nil)
        case .evaluateServer:
            #if canImport(Darwin)
            trust?.evaluate(challenge) { [self] rejection in
                guard let rejection else {
                    return completionHandler(
                        .useCredential,
                        challenge.protectionSpace.serverTrust.map(URLCredential.init(trust:))
                    )
                }
                transfer(ObjectIdentifier(task))?.stream.fail(rejection)
                completionHandler(.cancelAuthenticationChallenge, nil)
            }
            #else
            completionHandler(.cancelAuthenticationChallenge, nil)
            #endif
        }
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        let isWanted = transfer(ObjectIdentifier(dataTask))?.receive(response) ?? false
        // URLSession on Linux ignores the disposition.
        if !isWanted { dataTask.cancel() }
        completionHandler(isWanted ? .allow : .cancel)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        transfer(ObjectIdentifier(dataTask))?.receive(data)
    }

    #if canImport(Darwin)
    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        guard let last = metrics.transactionMetrics.last, let transfer = transfer(ObjectIdentifier(task)) else {
            return
        }
        if let name = last.networkProtocolName { transfer.receive(protocolName: name) }
        transfer.request.metrics?(RequestMetrics(last, of: transfer.request))
    }
    #endif

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        remove(ObjectIdentifier(task))?.end(error, isShutDown: state.withLock { $0.isShutDown })
    }
}
#endif
