#if canImport(Darwin)
import Foundation

/// A background `URLSession`, which lives as long as the process.
///
/// It only forwards calls and callbacks; ``BackgroundMachine`` makes the decisions.
final class BackgroundSession: NSObject, BackgroundSystem, URLSessionDownloadDelegate, Sendable {
    private struct Shared {
        var claims = BackgroundClaims()
        /// The sessions by identifier; the system allows one per identifier and process.
        var sessions: [String: BackgroundSession] = [:]
    }

    private struct State {
        var session: URLSession?
        var transfers: BackgroundTransfers?
        /// Whether ``transfers`` belongs to a running manager; after the manager's shutdown, ``transfers`` still
        /// receives delivered files.
        var isConnected = false
        var tasks: [Int: URLSessionTask] = [:]
    }

    private static let shared = Locked(Shared())

    private let name: BackgroundSessionName
    private let maxConnectionsPerHost: Int
    private let queue = OperationQueue()
    private let state = Locked(State())

    private init(_ name: BackgroundSessionName, maxConnectionsPerHost: Int) {
        self.name = name
        self.maxConnectionsPerHost = maxConnectionsPerHost
        queue.maxConcurrentOperationCount = 1
        super.init()
    }

    /// Returns the background session that a configuration names, and creates it on first use; `nil` if none is named.
    static func session(of configuration: DownloadConfiguration) -> BackgroundSession? {
        guard let name = configuration.backgroundSession else { return nil }
        return shared.withLock { shared in
            if let session = shared.sessions[name.identifier] { return session }
            let session = BackgroundSession(name, maxConnectionsPerHost: configuration.maxConnectionsPerHost)
            shared.sessions[name.identifier] = session
            return session
        }
    }

    /// Passes the completion handler of a wake-up to the session's manager; if there is none yet, stores the handler
    /// for it.
    static func woken(_ identifier: String, _ completion: @escaping @Sendable () -> Void) {
        let transfers = shared.withLock { shared in
            let transfers = shared.sessions[identifier]?.state.withLock { $0.isConnected ? $0.transfers : nil }
            if transfers == nil { shared.claims.woken(identifier, completion) }
            return transfers
        }
        transfers?.woken(completion)
    }

    private var transfers: BackgroundTransfers? { state.withLock { $0.transfers } }

    // MARK: BackgroundSystem

    func claim() throws(DownloadError) {
        try Self.shared.withLock { shared throws(DownloadError) in try shared.claims.claim(name.identifier) }
    }

    func leave() {
        state.withLock { $0.isConnected = false }
        Self.shared.withLock { $0.claims.release(name.identifier) }
    }

    func connect(to transfers: BackgroundTransfers) {
        let session = state.withLock { state in
            (state.transfers, state.isConnected) = (transfers, true)
            let session = state.session ?? makeSession()
            state.session = session
            return session
        }
        session.getAllTasks { [self] tasks in
            queue.addOperation { [self] in listed(tasks) }
        }
        for completion in Self.shared.withLock({ $0.claims.takeWakes(of: name.identifier) }) {
            transfers.woken(completion)
        }
    }

    func makeTask(_ request: BackgroundRequest, description: String, from resumeData: [UInt8]?) -> Int {
        state.withLock { state in
            let session = state.session ?? makeSession()
            state.session = session
            let task =
                resumeData.map { session.downloadTask(withResumeData: Data($0)) }
                ?? session.downloadTask(with: URLRequest(request))
            task.taskDescription = description
            state.tasks[task.taskIdentifier] = task
            return task.taskIdentifier
        }
    }

    func resume(_ number: Int) { task(number)?.resume() }

    func cancel(_ number: Int) { task(number)?.cancel() }

    func cancel(_ number: Int, producing publish: @escaping @Sendable ([UInt8]?) -> Void) {
        guard let task = task(number) as? URLSessionDownloadTask else {
            return queue.addOperation { publish(nil) }
        }
        task.cancel { [queue] data in
            queue.addOperation { publish(data.map { [UInt8]($0) }) }
        }
    }

    private func task(_ number: Int) -> URLSessionTask? { state.withLock { $0.tasks[number] } }

    private func makeSession() -> URLSession {
        let configuration = URLSessionConfiguration.background(withIdentifier: name.identifier)
        configuration.sharedContainerIdentifier = name.sharedContainer
        configuration.httpMaximumConnectionsPerHost = maxConnectionsPerHost
        configuration.httpCookieStorage = nil
        configuration.urlCredentialStorage = nil
        return URLSession(configuration: configuration, delegate: self, delegateQueue: queue)
    }

    private func listed(_ tasks: [URLSessionTask]) {
        state.withLock { state in
            for task in tasks { state.tasks[task.taskIdentifier] = task }
        }
        // A task without a download identity cannot be assigned to a download.
        for task in tasks where BackgroundTask(task) == nil { task.cancel() }
        transfers?.listed(
            tasks.compactMap { task in BackgroundTask(task).map { ($0, task.countOfBytesReceived) } }
        )
    }

    // MARK: URLSessionDownloadDelegate

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didFinishDownloadingTo location: URL
    ) {
        // Without an HTTP response, the completion of the task reports that there is no file.
        guard let task = BackgroundTask(downloadTask), let response = downloadTask.response as? HTTPURLResponse,
            let head = ResponseHead(response)
        else { return }
        transfers?.finished(task, file: location.filePath, head: head)
    }

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) {
        guard let task = BackgroundTask(downloadTask) else { return }
        let totalBytes = totalBytesExpectedToWrite < 0 ? nil : totalBytesExpectedToWrite
        transfers?.wrote(task, receivedBytes: totalBytesWritten, totalBytes: totalBytes)
    }

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        guard let task = BackgroundTask(downloadTask) else { return }
        transfers?.resumed(task, from: fileOffset)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        state.withLock { _ = $0.tasks.removeValue(forKey: task.taskIdentifier) }
        guard let ended = BackgroundTask(task) else { return }
        let failure = error.map { $0 as NSError }
        let resumeData = failure?.userInfo[NSURLSessionDownloadTaskResumeData] as? Data
        transfers?.completed(
            ended,
            failure.map { BackgroundFailure(domain: $0.domain, code: $0.code, text: $0.localizedDescription) },
            resumeData: resumeData.map { [UInt8]($0) },
            receivedBytes: task.countOfBytesReceived
        )
    }

    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
        transfers?.reportedAll()
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        state.withLock { ($0.session, $0.tasks) = (nil, [:]) }
        transfers?.invalidated()
    }
}

extension BackgroundTask {
    fileprivate init?(_ task: URLSessionTask) {
        self.init(task.taskIdentifier, description: task.taskDescription)
    }
}

extension ResponseHead {
    /// Converts a response, in which URLSession has combined fields of the same name; returns `nil` without a URL.
    fileprivate init?(_ response: HTTPURLResponse) {
        guard let url = response.url else { return nil }
        let fields = Self.fields(response.allHeaderFields).map { HeaderField(name: $0, value: $1) }
        self.init(url: url, status: response.statusCode, fields: fields)
    }
}

extension URLRequest {
    fileprivate init(_ request: BackgroundRequest) {
        self.init(url: request.url)
        for field in request.fields { addValue(field.value, forHTTPHeaderField: field.name) }
        switch request.networkPolicy {
        case .any: break
        case .notExpensive: allowsExpensiveNetworkAccess = false
        case .notConstrained: allowsConstrainedNetworkAccess = false
        case .wifiOrWired: allowsCellularAccess = false
        }
    }
}
#endif
