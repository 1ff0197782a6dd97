public import HeadracePlatform

extension DownloadError: LocalizedError {
    /// The sentence for a person, as ``description`` has it.
    public var errorDescription: String? { description }
}

/// Why a download failed: what, on which file or URL, and what to do.
public struct DownloadError: Error, Sendable {
    /// What kind of failure it is; the thing to branch on.
    public let code: Code
    /// One sentence for a person: what happened, where, and what can be done.
    public internal(set) var message: String
    /// The HTTP status code where the server refused.
    public let statusCode: Int?
    /// How long the server asked to wait before the next request, where it did.
    public internal(set) var retryAfter: Duration?
    /// Set where the host takes no more at the moment, and sends another download.
    var isOneTooMany = false
    /// Whether the transfer was stopped because another one from the server had stalled.
    var followsStall = false
    /// Set where the same request may succeed later for another reason than that of its code.
    var mayPass = false
    /// Whether the host refused the connection, as if nothing listens at the port.
    var isConnectionRefused = false
    /// The setting that may help, where there is one.
    package internal(set) var remedy: Remedy?
    /// The saved bytes of a complete file whose checksum or size is wrong; `nil` if none were saved.
    ///
    /// See ``DownloadRequest/mismatchPolicy``. An error that was restored from a registry names the file in its message only.
    public internal(set) var savedFile: URL?
    /// The URL that was asked for, without its user and password.
    public internal(set) var url: URL?
    /// The error below this one, where there is one.
    public let cause: (any Error)?

    /// Creates an error.
    /// - Parameters:
    ///   - code: What kind of failure it is.
    ///   - message: One sentence for a person.
    ///   - statusCode: The HTTP status code where the server refused.
    ///   - url: The URL that was asked for; its user and password are dropped.
    ///   - cause: The error below this one.
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

    /// A setting without which a request may fail; each tool has its own name for it.
    package enum Remedy: Sendable, Equatable, CaseIterable {
        case login
        case certificateAuthorities
        case insecureRedirects
        case cookies
    }

    /// The same error with the setting that may help.
    func remedied(by remedy: Remedy?) -> DownloadError {
        var error = self
        error.remedy = remedy
        return error
    }

    /// The same error about a URL, where it has none yet.
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
                "The host has asked to wait \(hostWait.inSeconds), also for its other files, and the download has to be "
                    + "complete within \(limit.inSeconds). Start it again after that, or allow more time."
            } else if !isResumable {
                "The download was not complete within \(limit.inSeconds), and its server tells no version by which it could go "
                    + "on. Allow more time."
            } else {
                "The download was not complete within \(limit.inSeconds). Start it again to go on with it, or allow more time."
            }
        return DownloadError(.timedOut, message, url: url)
    }

    static func unknown(_ id: DownloadID) -> DownloadError {
        DownloadError(.unknownDownload, "No download in the list has the identity \(id).")
    }

    static func credentialsMissing(_ names: [String]) -> DownloadError {
        DownloadError(
            .credentialsMissing,
            "The request was made in an earlier run with \(names.joined(separator: ", ")), which no disk keeps. "
                + "Add it again: its bytes are gone on with."
        )
    }

    static func proxyLogin(_ proxy: ProxyServer) -> DownloadError {
        DownloadError(
            .proxy,
            proxy.user == nil
                ? "The proxy \(proxy) asks for a login. Give its URL with user and password."
                : "The proxy \(proxy) refuses its login. Check the user and the password in its URL.",
            statusCode: proxy.isSOCKS ? nil : 407
        )
    }

    static func unpinned(_ server: String) -> DownloadError {
        DownloadError(
            .tls,
            "The key of \(server) is none of the pinned ones: the server has a new one, or somebody is in between. "
                + "Nothing was sent. Find out which before the pin is changed."
        )
    }

    static func shutDown(_ url: URL? = nil) -> DownloadError {
        DownloadError(.shutDown, "The download manager was shut down.", url: url)
    }
}

extension DownloadError: Hashable {
    /// Compares all but the cause, which need not be comparable.
    /// - Parameters:
    ///   - lhs: An error.
    ///   - rhs: Another error.
    /// - Returns: True when code, message, status and URL are the same.
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
    /// The message, followed by the URL in parentheses where there is one.
    public var description: String {
        guard let url else { return message }
        return "\(message) (\(url.absoluteString))"
    }
}

extension DownloadError {
    /// A kind of failure.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String {
            case invalidRequest
            case transportUnavailable
            case nameResolution
            case addressRefused
            case connection
            case tls
            case proxy
            case stalled
            case connectionLost
            case httpStatus
            case redirect
            case protocolViolation
            case resourceChanged
            case unexpectedContent
            case fileTooLarge
            case checksum
            case digestUnavailable
            case timedOut
            case busy
            case diskFull
            case permission
            case fileExists
            case fileSystem
            case unknownDownload
            case credentialsMissing
            case cancelled
            case shutDown
        }

        private let kind: Kind

        private init(_ kind: Kind) {
            self.kind = kind
        }

        /// The code of a name; nil for one that this release does not have.
        init?(name: String) {
            guard let kind = Kind(rawValue: name) else { return nil }
            self.init(kind)
        }

        /// The code's name, as in `httpStatus`.
        public var description: String { kind.rawValue }

        /// The request cannot be made: its URL, a header or the destination is wrong.
        public static let invalidRequest = Code(.invalidRequest)
        /// The system's HTTP library is missing or too old, or the chosen transport is not in this build.
        public static let transportUnavailable = Code(.transportUnavailable)
        /// The host's name has no address.
        public static let nameResolution = Code(.nameResolution)
        /// The host has no address that ``DownloadConfiguration/allowsAddress`` allows.
        public static let addressRefused = Code(.addressRefused)
        /// No connection to the server could be made in time.
        public static let connection = Code(.connection)
        /// TLS failed: the certificate, its name, or the handshake.
        public static let tls = Code(.tls)
        /// The proxy refused, or wants a login; see ``DownloadError/statusCode`` for its answer.
        public static let proxy = Code(.proxy)
        /// No byte, or too few, came for longer than the stall timeout.
        public static let stalled = Code(.stalled)
        /// The connection ended before the answer did.
        public static let connectionLost = Code(.connectionLost)
        /// The server refused with a status; see ``DownloadError/statusCode``.
        public static let httpStatus = Code(.httpStatus)
        /// A redirect was refused: too many, from https to http, or to a scheme that is not HTTP.
        public static let redirect = Code(.redirect)
        /// The answer broke HTTP's rules.
        public static let protocolViolation = Code(.protocolViolation)
        /// The file changed on the server again and again while it was fetched.
        public static let resourceChanged = Code(.resourceChanged)
        /// The server sent something else in place of the file, perhaps a login page.
        public static let unexpectedContent = Code(.unexpectedContent)
        /// The file has more bytes than ``DownloadConfiguration/maxFileSize``.
        public static let fileTooLarge = Code(.fileTooLarge)
        /// The file is not what its checksum or its size says; see ``DownloadRequest/mismatchPolicy``.
        public static let checksum = Code(.checksum)
        /// The system's library of hash functions is missing, or does not have the one that is needed.
        public static let digestUnavailable = Code(.digestUnavailable)
        /// The download ran for longer than ``DownloadConfiguration/timeLimit``.
        public static let timedOut = Code(.timedOut)
        /// Another download writes the same partial file, or another manager has the list or the background session.
        public static let busy = Code(.busy)
        /// The disk or the quota is full.
        public static let diskFull = Code(.diskFull)
        /// The file or its directory may not be written.
        public static let permission = Code(.permission)
        /// A file of that name exists and the conflict policy is `fail`.
        public static let fileExists = Code(.fileExists)
        /// Another failure of the file system.
        public static let fileSystem = Code(.fileSystem)
        /// A download that is not in the list, or not any more, or a place that the list does not have.
        public static let unknownDownload = Code(.unknownDownload)
        /// The request had credentials, which are never written to a disk, and is from an earlier run.
        public static let credentialsMissing = Code(.credentialsMissing)
        /// The download was cancelled.
        public static let cancelled = Code(.cancelled)
        /// The manager was shut down.
        public static let shutDown = Code(.shutDown)
    }
}
