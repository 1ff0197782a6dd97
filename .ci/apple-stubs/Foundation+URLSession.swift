// Stands in for URLSession on Apple platforms, as far as the package uses it: declarations without behavior.

import Network

public let NSURLSessionDownloadTaskResumeData = "NSURLSessionDownloadTaskResumeData"

public struct URLRequest: Sendable {
    public enum CachePolicy: UInt, Sendable { case useProtocolCachePolicy, reloadIgnoringLocalCacheData }
    public init(url: URL, cachePolicy: CachePolicy = .useProtocolCachePolicy, timeoutInterval: TimeInterval = 60) {}
    public var allowsCellularAccess: Bool { get { true } set {} }
    public var allowsExpensiveNetworkAccess: Bool { get { true } set {} }
    public var allowsConstrainedNetworkAccess: Bool { get { true } set {} }
    public var httpShouldHandleCookies: Bool { get { true } set {} }
    public var timeoutInterval: TimeInterval { get { 0 } set {} }
    public var httpMethod: String? { get { nil } set {} }
    public var httpBody: Data? { get { nil } set {} }
    public mutating func addValue(_ value: String, forHTTPHeaderField field: String) {}
}

open class URLResponse: NSObject, @unchecked Sendable {
    open var url: URL? { nil }
}

open class HTTPURLResponse: URLResponse, @unchecked Sendable {
    open var statusCode: Int { 0 }
    open var allHeaderFields: [AnyHashable: Any] { [:] }
}

open class URLSessionTask: NSObject, @unchecked Sendable {
    open var taskIdentifier: Int { 0 }
    open var taskDescription: String? { get { nil } set {} }
    open var response: URLResponse? { nil }
    open var countOfBytesReceived: Int64 { 0 }
    open func cancel() {}
    open func resume() {}
    open func suspend() {}
}

open class URLSessionDataTask: URLSessionTask, @unchecked Sendable {}

open class URLSessionDownloadTask: URLSessionTask, @unchecked Sendable {
    open func cancel(byProducingResumeData completionHandler: @escaping @Sendable (Data?) -> Void) {}
}

open class URLCache: NSObject, @unchecked Sendable {}

open class URLCredentialStorage: NSObject, @unchecked Sendable {}

open class HTTPCookieStorage: NSObject, @unchecked Sendable {}

public enum tls_protocol_version_t: UInt16, Sendable { case TLSv12 = 0x0303 }

open class URLSessionConfiguration: NSObject, @unchecked Sendable {
    open class var `default`: URLSessionConfiguration { URLSessionConfiguration() }
    open class var ephemeral: URLSessionConfiguration { URLSessionConfiguration() }
    open class func background(withIdentifier identifier: String) -> URLSessionConfiguration { URLSessionConfiguration() }
    open var identifier: String? { nil }
    open var sharedContainerIdentifier: String? { get { nil } set {} }
    open var httpMaximumConnectionsPerHost: Int { get { 0 } set {} }
    open var httpCookieStorage: HTTPCookieStorage? { get { nil } set {} }
    open var urlCredentialStorage: URLCredentialStorage? { get { nil } set {} }
    open var urlCache: URLCache? { get { nil } set {} }
    open var httpShouldSetCookies: Bool { get { true } set {} }
    open var timeoutIntervalForRequest: TimeInterval { get { 0 } set {} }
    open var timeoutIntervalForResource: TimeInterval { get { 0 } set {} }
    open var waitsForConnectivity: Bool { get { false } set {} }
    open var tlsMinimumSupportedProtocolVersion: tls_protocol_version_t { get { .TLSv12 } set {} }
    open var connectionProxyDictionary: [AnyHashable: Any]? { get { nil } set {} }
    /// Network's overlay of Foundation has it.
    public var proxyConfigurations: [ProxyConfiguration] { get { [] } set {} }
    open func copy() -> Any { self }
}

open class URLSession: NSObject, @unchecked Sendable {
    public enum AuthChallengeDisposition: Int, Sendable {
        case useCredential, performDefaultHandling, cancelAuthenticationChallenge, rejectProtectionSpace
    }
    public enum ResponseDisposition: Int, Sendable { case cancel, allow, becomeDownload, becomeStream }
    public init(
        configuration: URLSessionConfiguration,
        delegate: (any URLSessionDelegate)?,
        delegateQueue queue: OperationQueue?
    ) {}
    open func getAllTasks(completionHandler: @escaping @Sendable ([URLSessionTask]) -> Void) {}
    open func downloadTask(with request: URLRequest) -> URLSessionDownloadTask { URLSessionDownloadTask() }
    open func downloadTask(withResumeData resumeData: Data) -> URLSessionDownloadTask { URLSessionDownloadTask() }
    open func dataTask(with request: URLRequest) -> URLSessionDataTask { URLSessionDataTask() }
    open func finishTasksAndInvalidate() {}
    open func invalidateAndCancel() {}
}

public final class URLSessionTaskTransactionMetrics: NSObject, @unchecked Sendable {
    public var networkProtocolName: String? { nil }
    public var response: URLResponse? { nil }
    public var fetchStartDate: Date? { nil }
    public var domainLookupEndDate: Date? { nil }
    public var connectEndDate: Date? { nil }
    public var secureConnectionStartDate: Date? { nil }
    public var secureConnectionEndDate: Date? { nil }
    public var responseStartDate: Date? { nil }
    public var responseEndDate: Date? { nil }
    public var isReusedConnection: Bool { false }
    public var remoteAddress: String? { nil }
    public var countOfResponseBodyBytesReceived: Int64 { 0 }
}

public final class URLSessionTaskMetrics: NSObject, @unchecked Sendable {
    public var transactionMetrics: [URLSessionTaskTransactionMetrics] { [] }
}

public let NSURLAuthenticationMethodServerTrust = "NSURLAuthenticationMethodServerTrust"

open class URLProtectionSpace: NSObject, @unchecked Sendable {
    open var authenticationMethod: String { "" }
    open var host: String { "" }
    open var serverTrust: SecTrust? { nil }
    open func isProxy() -> Bool { false }
}

open class URLAuthenticationChallenge: NSObject, @unchecked Sendable {
    open var protectionSpace: URLProtectionSpace { URLProtectionSpace() }
}

open class URLCredential: NSObject, @unchecked Sendable {
    public convenience init(trust: SecTrust) { self.init() }
}

// Apple's requirements are optional, and a method of a slightly different type would silently never be called. Here they are
// not, so that it is an error: each of our delegates has all those that are declared for its protocol.

public protocol URLSessionDelegate: NSObject, Sendable {
    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?)
}

public protocol URLSessionTaskDelegate: URLSessionDelegate {
    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?)
}

public protocol URLSessionDataDelegate: URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    )
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    )
    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics)
    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    )
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data)
}

public protocol URLSessionDownloadDelegate: URLSessionTaskDelegate {
    /// The requirement of `URLSessionDelegate`, which our other delegate does not have.
    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession)
    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didFinishDownloadingTo location: URL
    )
    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    )
    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    )
}

// The Core Foundation types of Security, which cannot be declared there, as this module refers to them.

public final class SecTrust: @unchecked Sendable {}

public final class SecCertificate: @unchecked Sendable {}
