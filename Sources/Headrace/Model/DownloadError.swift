public import HeadracePlatform

extension DownloadError: LocalizedError {
    /// The same text as ``description``, for the user.
    public var errorDescription: String? { description }
}

/// The error of a failed download, or of another operation of the library that failed.
///
///     do {
///         let file = try await download.value
///     } catch let error as DownloadError where error.code == .diskFull {
///         show(error.message)
///     }
public struct DownloadError: Error, Sendable {
    /// The kind of failure, for decisions in code.
    public let code: Code
    /// A message for the user: what failed, on which file or server, why, and what can be done.
    public internal(set) var message: String
    /// The HTTP status code, if the failure is an HTTP response.
    public let statusCode: Int?
    /// The delay that the server requested before the next request, if any (`Retry-After`).
    public internal(set) var retryAfter: Duration?
    /// Whether the host rejected the request while serving another download.
    ///
    /// Such a failure uses up no retry unless the download has another source.
    var exceedsHostLimit = false
    /// Whether the transfer failed before its own stall timeout, because another transfer from its server had stalled.
    ///
    /// If such failures follow each other, every second one uses up a retry.
    var followsStall = false
    /// Whether the connection was lost after this process had not read from it for the stall timeout.
    ///
    /// A slow disk or a rate limit causes such a pause. The failure uses up no retry. This is `false` if the response
    /// cannot be resumed.
    var followsPause = false
    /// Whether a retry may succeed although failures with this ``code`` are usually permanent.
    var isRetryable = false
    /// Whether the host or the proxy refused the connection, for example because nothing listens on the port.
    var isConnectionRefused = false
    /// The setting that may fix the failure, if any.
    package internal(set) var remedy: Remedy?
    /// The file with the saved bytes of a download whose checksum or size is wrong; `nil` if no bytes were saved.
    ///
    /// See ``DownloadRequest/mismatchPolicy-swift.property``. A registry does not save this property, but it saves the
    /// message, which names the file.
    public internal(set) var savedFile: URL?
    /// The requested URL, without user and password; `nil` if the failure is not about a URL.
    public internal(set) var url: URL?
    /// The underlying error, if any.
    public let cause: (any Error)?

    /// Creates an error.
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - message: A message for the user.
    ///   - statusCode: The HTTP status code, if the failure is an HTTP response.
    ///   - url: The requested URL; its user and password are removed.
    ///   - cause: The underlying error, if any.
    public init(
        _ code: Code,
        _ message: String,
        statusCode: Int? = nil,
        url: URL? = nil,
        cause: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.statusCode = statusCode
        self.url = url?.withoutCredentials
        self.cause = cause
    }

    /// A setting that may fix a failure; each user interface has its own name for the setting.
    package enum Remedy: Sendable, Equatable, CaseIterable {
        case login
        case certificateAuthorities
        case insecureRedirects
        case cookies
    }

    /// Returns a copy of the error with this remedy.
    func remedied(by remedy: Remedy?) -> DownloadError {
        var error = self
        error.remedy = remedy
        return error
    }

    /// Returns a copy of the error with this URL, unless the error already has one.
    func about(_ url: URL) -> DownloadError {
        guard self.url == nil else { return self }
        var error = self
        error.url = url.withoutCredentials
        return error
    }

    static func cancelled(_ url: URL) -> DownloadError {
        DownloadError(.cancelled, "The download was cancelled.", url: url)
    }

    static func timedOut(
        _ url: URL,
        after limit: Duration,
        hostWait: Duration?,
        isResumable: Bool
    ) -> DownloadError {
        let message =
            if let hostWait, hostWait > .zero {
                "The host has asked to wait \(hostWait.inSeconds), also for its other files, but the download must be "
                    + "complete within \(limit.inSeconds). Resume it after that time, or allow more time."
            } else if !isResumable {
                "The download was not complete within \(limit.inSeconds), and it cannot be resumed because its server "
                    + "supports no ranges, sends no validator (ETag or Last-Modified), or compresses the file. Allow more "
                    + "time."
            } else {
                "The download was not complete within \(limit.inSeconds). Resume it, or allow more time."
            }
        return DownloadError(.timedOut, message, url: url)
    }

    static func unknown(_ id: DownloadID) -> DownloadError {
        DownloadError(.unknownDownload, "No download in the queue has the identity \(id).")
    }

    static func credentialsMissing(_ names: [String]) -> DownloadError {
        DownloadError(
            .credentialsMissing,
            "The request was added in an earlier run with \(names.joined(separator: ", ")), and secrets are never saved. "
                + "Add it again to resume the download."
        )
    }

    static func proxyLogin(_ proxy: ProxyServer) -> DownloadError {
        DownloadError(
            .proxy,
            proxy.user == nil
                ? "The proxy \(proxy) requires a login. Add user and password to its URL."
                : "The proxy \(proxy) rejected the login. Check the user and password in its URL.",
            statusCode: proxy.isSOCKS ? nil : 407
        )
    }

    static func unpinned(_ server: String) -> DownloadError {
        DownloadError(
            .tls,
            "The public key of \(server) matches none of the pinned keys: the server has a new key, or the connection is "
                + "intercepted. Nothing was sent. Find out which before you change the pinned keys."
        )
    }

    static func shutDown(_ url: URL? = nil) -> DownloadError {
        DownloadError(.shutDown, "The download manager was shut down.", url: url)
    }
}

extension DownloadError: Hashable {
    /// Compares code, message, status code and URL; the cause may not be comparable.
    /// - Parameters:
    ///   - lhs: An error.
    ///   - rhs: Another error.
    /// - Returns: Whether these four properties are equal.
    public static func == (lhs: DownloadError, rhs: DownloadError) -> Bool {
        lhs.code == rhs.code && lhs.message == rhs.message && lhs.statusCode == rhs.statusCode && lhs.url == rhs.url
    }

    /// Hashes the code and the message.
    /// - Parameter hasher: The hasher to feed.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(message)
    }
}

extension DownloadError: CustomStringConvertible {
    /// The message, followed by the URL in parentheses if there is one.
    public var description: String {
        guard let url else { return message }
        return "\(message) (\(url.absoluteString))"
    }
}

extension DownloadError {
    /// The kind of a failure; see <doc:Errors> for causes and remedies.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name of the code, such as `httpStatus`.
        public let description: String

        /// Creates the code with this name, which may be a code of a later release.
        init(_ name: String) {
            description = name
        }

        /// The request or a setting is invalid, such as the URL, a header field or the destination.
        public static let invalidRequest = Code("invalidRequest")
        /// The system's HTTP library is missing or too old, or the chosen transport is not in this build.
        public static let transportUnavailable = Code("transportUnavailable")
        /// The host name could not be resolved.
        public static let nameResolution = Code("nameResolution")
        /// The host has no address that ``DownloadConfiguration/allowsAddress`` and
        /// ``DownloadRequest/requiresPublicAddress`` allow.
        public static let addressRefused = Code("addressRefused")
        /// The connection to the server failed, or could not be established in time.
        public static let connection = Code("connection")
        /// TLS failed: the certificate, its host name, a pinned key, or the handshake.
        public static let tls = Code("tls")
        /// The proxy rejected the request or the login, requires a login, or does not speak TLS.
        ///
        /// If the proxy sent a response, its status is the ``DownloadError/statusCode``.
        public static let proxy = Code("proxy")
        /// The server sent nothing, or more slowly than the minimum speed, for as long as the stall timeout.
        public static let stalled = Code("stalled")
        /// The connection was lost before the response was complete.
        public static let connectionLost = Code("connectionLost")
        /// The server responded with an error status; see ``DownloadError/statusCode``.
        public static let httpStatus = Code("httpStatus")
        /// The redirect limit was reached, or a redirect must not be followed: from https to http, to an invalid URL or
        /// another scheme, or with a secret body to another origin.
        public static let redirect = Code("redirect")
        /// The response violates HTTP, or does not match the request.
        public static let protocolViolation = Code("protocolViolation")
        /// The download restarted too often, for example because the file kept changing on the server; or the file
        /// changed on the server while a reader was reading it.
        public static let resourceChanged = Code("resourceChanged")
        /// The server sent something other than the file, such as a login page.
        public static let unexpectedContent = Code("unexpectedContent")
        /// The file is larger than ``DownloadConfiguration/maxFileSize``, or would be much larger when decoded; see
        /// ``DownloadRequest/decodesContent``.
        public static let fileTooLarge = Code("fileTooLarge")
        /// The checksum or size of the file is wrong; see ``DownloadRequest/mismatchPolicy-swift.property``.
        public static let checksum = Code("checksum")
        /// The system's library of hash functions is missing, or lacks the required function.
        public static let digestUnavailable = Code("digestUnavailable")
        /// The content coding of the file could not be removed: the bytes are damaged or truncated, or the system
        /// cannot decode them; see ``DownloadRequest/decodesContent``.
        public static let contentCoding = Code("contentCoding")
        /// The download took longer than ``DownloadConfiguration/timeLimit``.
        public static let timedOut = Code("timedOut")
        /// Another download writes the same file, or another manager uses the registry or the background session.
        public static let busy = Code("busy")
        /// The disk is full, or the quota is exceeded.
        public static let diskFull = Code("diskFull")
        /// The file or its directory cannot be accessed for lack of permission.
        public static let permission = Code("permission")
        /// A file with the destination's name exists and must not be replaced, for example with the conflict policy
        /// `fail`.
        ///
        /// Also used if the file belongs to another download in the queue.
        public static let fileExists = Code("fileExists")
        /// Any other failure of the file system.
        public static let fileSystem = Code("fileSystem")
        /// The download or the position is not in the queue.
        public static let unknownDownload = Code("unknownDownload")
        /// The request was added in an earlier run with credentials, which are never saved.
        public static let credentialsMissing = Code("credentialsMissing")
        /// The download was cancelled.
        public static let cancelled = Code("cancelled")
        /// The manager was shut down.
        public static let shutDown = Code("shutDown")
    }
}
