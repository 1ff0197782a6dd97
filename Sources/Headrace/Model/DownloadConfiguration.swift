public import HeadracePlatform

/// The settings of a manager, fixed when it is created.
///
///     let configuration = DownloadConfiguration {
///         $0.maxConcurrentDownloads = 8
///         $0.registryDirectory = folder
///         $0.retryPolicy.maxFailures = 10
///     }
///     let manager = try await DownloadManager(configuration: configuration)
public struct DownloadConfiguration: Sendable {
    /// The maximum number of downloads that run in parallel: a fixed number, or one that the manager chooses.
    ///
    /// Fewer run if the process cannot open that many files: see <doc:Connections>.
    public var maxConcurrentDownloads: ConcurrencyLimit = 4
    /// The maximum number of downloads from one host that run in parallel, at least 1; `nil` for no limit.
    public var maxConcurrentDownloadsPerHost: Int?
    /// The maximum number of parallel connections for one file, at least 1; `nil` for an automatic number up to 16.
    ///
    /// Several connections require a server that supports range requests, and a strong validator from that server or a
    /// checksum in the request.
    public var maxConnectionsPerDownload: Int?
    /// The maximum number of parallel connections to one host over all downloads, at least 1.
    ///
    /// All downloads from a host share its connections evenly. If all are in use, a new download waits until one of
    /// them is closed. A fixed ``maxConcurrentDownloads`` above this limit takes precedence: that many downloads run,
    /// each over one connection. If a host refuses connections, its limit drops temporarily. HTTP/2 connections that
    /// small files share are counted separately, with the same maximum, but at most 16.
    public var maxConnectionsPerHost = 16
    /// The directory of the registry, which saves the queue for the next run; `nil` for a queue in memory only.
    ///
    /// A missing directory is created, if its parent exists. Only one manager can use a directory at a time: a second
    /// manager fails with ``DownloadError/Code/busy``. Secrets of requests are not saved; see ``HeaderField/isSecret``.
    public var registryDirectory: URL?
    /// The directory for partial files and their resume records; `nil` to save them beside their destinations.
    ///
    /// A missing directory is created. Several managers and processes can share a directory.
    ///
    /// A complete file is renamed to its destination. If the destination is on another volume, the file is first copied
    /// there, under the name of a partial file, so both volumes need space for it. On Linux, a small file that arrives
    /// at once is written directly to its destination, unless it replaces a file.
    ///
    /// Partial files in any other directory are not found: keep this setting while downloads are unfinished. A registry
    /// saves the setting, so that ``DownloadRegistry`` finds the files too.
    public var partialsDirectory: URL?
    /// Whether downloads that were running when the last manager's process ended are restored as paused.
    ///
    /// If `false`, these downloads wait to run again. But a download whose request must not be repeated is always
    /// restored as paused; see ``DownloadRequest/isRepeatable``.
    public var restoresPaused = false
    /// Whether finished downloads stay in the queue; otherwise they are removed as soon as they finish.
    ///
    /// Removing a download from the queue does not delete its file. A handle on the download can still be used, with
    /// its state and ``Download/value``.
    public var keepsFinished = true
    /// Whether the manager runs downloads; `false` to only manage the queue.
    public var startsDownloads = true
    /// The background session in which the system performs the downloads; `nil` if the manager performs them itself.
    var backgroundSession: BackgroundSessionName?
    /// The time limit for establishing a connection, including TLS.
    public var connectTimeout: Duration = .seconds(15)
    /// The time without a received byte after which a transfer counts as stalled.
    ///
    /// On Linux, when a transfer stalls, other transfers from the same server that have received nothing for half of
    /// this time are also retried.
    public var stallTimeout: Duration = .seconds(30)
    /// The minimum speed in bytes per second; `nil` for none.
    ///
    /// A transfer that is slower for as long as ``stallTimeout`` counts as stalled. Only the time spent waiting for the
    /// server counts, not the time of slow disk writes.
    public var minimumSpeed: Int64?
    /// The rate limit for all downloads together, in bytes per second; `nil` for no limit.
    ///
    /// Call ``DownloadManager/setRateLimit(_:)`` to change the limit later.
    public var rateLimit: Int64?
    /// Rate limits by time of day and day of the week; if there is a ``rateLimit`` too, the lower one applies.
    public var rateSchedule: RateSchedule?
    /// The rate limit of each group in bytes per second, by the group's name; the downloads of a group share its limit.
    public var groupRateLimits: [String: Int64] = [:]
    /// The time limit for a download, including its retries and the delays between them; `nil` for no limit.
    ///
    /// A download that takes longer fails with ``DownloadError/Code/timedOut``, but its received bytes are retained.
    /// The time for which a download waits to be started does not count.
    public var timeLimit: Duration?
    /// Whether files are verified against checksums from the server, if the request has none.
    ///
    /// The server sends checksums in `Repr-Digest` (RFC 9530), `Digest` (RFC 3230), `X-Goog-Hash`, `X-Checksum-SHA256`,
    /// in the `X-Linked-ETag` of the first redirect and, in a response with the whole file, `Content-Digest`,
    /// `X-Amz-Checksum-…` and `Content-MD5`. These checksums detect transmission errors, but not forgeries.
    public var checksServerDigests = true
    /// The maximum size of a file in bytes; `nil` for no limit.
    ///
    /// A file that the server announces as larger is rejected before its first byte; a file of unknown size is stopped
    /// when it exceeds the limit. In both cases the download fails with ``DownloadError/Code/fileTooLarge``, and the
    /// received bytes are retained.
    public var maxFileSize: Int64?
    /// The maximum number of redirects that a request follows.
    public var maxRedirects = 20
    /// Whether redirects from https to http are followed.
    public var allowsInsecureRedirects = false
    /// Decides whether a connection to an address is allowed; `nil` to allow all.
    ///
    ///     $0.allowsAddress = { $0.isPublic }
    ///
    /// With this example, the users of a service that downloads their URLs cannot reach its machine or private network.
    ///
    /// The closure is called before each connection, including those for redirects, with the address about to be
    /// connected to. Therefore neither a redirect nor a changed DNS record can bypass it. A reused connection is not
    /// checked again.
    ///
    /// If a host has several addresses, one allowed address is enough. If none is allowed, the download fails with
    /// ``DownloadError/Code/addressRefused`` without retries.
    ///
    /// A proxy would connect to the target itself, without this check. Therefore proxies from the environment (such as
    /// `http_proxy`) are ignored, and a URL in ``proxy`` is an error.
    ///
    /// The closure runs on the network thread and must return immediately.
    public var allowsAddress: (@Sendable (IPAddress) -> Bool)?
    /// Whether partial files of earlier runs are resumed; otherwise they are downloaded again from the start.
    public var resumesPartialDownloads = true
    /// Whether downloads wait while there is no network, without using up retries.
    ///
    /// If `false`, downloads are tried anyway and fail after their retries. This setting affects neither the wait for a
    /// network that ``DownloadRequest/networkPolicy-swift.property`` allows, nor the reconnection after a change of
    /// network.
    public var waitsForConnectivity = true
    /// The policy for retries after failures.
    public var retryPolicy = RetryPolicy()
    /// The kinds of failure that finished files and resume records survive; by default, even power failures.
    public var durability = Durability.full
    /// Whether a finished file gets the server's `Last-Modified` date as its modification time; a future date is
    /// ignored.
    public var setsRemoteTime = true
    /// Whether the source URL and the validator of every finished file are saved in its extended attributes.
    ///
    /// The URL is saved without user, password and query. Even if this setting is `false`, both are saved for requests
    /// with ``DownloadRequest/RefetchPolicy/ifChanged``, and the validator alone for requests with
    /// ``DownloadRequest/RefetchPolicy/unlessCurrent``. With this setting or `ifChanged`, a file is synced before its
    /// validator is saved, even if ``durability`` does not require that.
    public var storesOrigin = false
    /// A PEM file of certificate authorities that replace the system's; `nil` to use the system's.
    ///
    /// An app on Apple platforms needs `NSExceptionAllowsInsecureHTTPLoads` for the domains, since App Transport
    /// Security does not know these authorities: see <doc:Transports>.
    public var certificateAuthorities: URL?
    /// The public keys that servers may have, in addition to a valid certificate; empty to allow any key.
    ///
    /// Each is `sha256//` followed by the base64 of the SHA-256 of a public key (its SubjectPublicKeyInfo), as in HTTP
    /// public key pinning. The keys apply to all https servers, including those reached by redirects.
    public var pinnedPublicKeys: [String] = []
    /// The certificate for https servers that request a client certificate; `nil` for none.
    public var clientCertificate: ClientCertificate?
    /// The proxy for all connections, or none.
    public var proxy = Proxy.environment
    /// The way in which connections are made: the addresses, the interface and the HTTP version.
    public var connectionPolicy = ConnectionPolicy()
    /// Supplies a credential when a server responds with 401; `nil` for none.
    ///
    ///     $0.credentials = { request in
    ///         guard request.refused == nil else { return nil }
    ///         return .login(user: "alice", password: try await keychain.password(for: request.url))
    ///     }
    ///
    /// While a call for an origin (scheme, host and port) runs, other requests that this origin rejects wait for the
    /// result. The credential is stored in memory, and sent with every later request to this origin only. If the server
    /// rejects the credential, the closure is called again, with the credential in ``CredentialRequest/refused``. A
    /// request is repeated at most four times, and never with a credential that was rejected for it.
    ///
    /// If the closure returns `nil`, the download fails with the server's status. If it throws, the error becomes the
    /// cause of the download's error.
    ///
    /// The closure is not called for requests with an `Authorization` field or with user and password in the URL. It is
    /// also not called if the server offers schemes, but none of ``AuthenticationScheme``. If there is a
    /// ``DownloadRequest/linkProvider`` too, this closure is called first.
    ///
    /// The closure's task is cancelled when the download stops. If another download waits for the credential, the
    /// closure is called again.
    public var credentials: (@Sendable (CredentialRequest) async throws -> Credential?)?
    /// Supplies a new URL when the URL of a download stops working, if the request has no
    /// ``DownloadRequest/linkProvider``; `nil` for none.
    ///
    ///     $0.linkProvider = { request in .init(try await api.signedURL(of: request.userInfo["id"])) }
    ///
    /// The closure serves all downloads, including those that a registry restores, except requests that must not be
    /// repeated or have a secret body. It is called and cancelled like a ``DownloadRequest/linkProvider``.
    public var linkProvider: (@Sendable (DownloadRequest) async throws -> DownloadRequest.Link)?
    /// Logins by host, which are tried before ``credentials``; `nil` for none.
    ///
    /// A host's login is sent with each request to that host. The default login is sent only if a server responds with
    /// 401.
    public var netrc: Netrc?
    /// The jar that stores cookies from servers and supplies those to send; `nil` for no cookies.
    public var cookies: CookieJar?
    /// The file that stores the hosts to be requested only over https (HSTS, RFC 6797); `nil` to store them in memory
    /// only.
    ///
    /// After a host has sent `Strict-Transport-Security` over https, its http URLs are requested over https, even
    /// without a file. This does not apply to IP addresses. A replaced URL is reported as
    /// ``DownloadEvent/redirected(status:from:to:)`` with the status 307. If a redirect leads to such a URL, the event
    /// of that redirect contains the https URL instead.
    ///
    /// The file has the format of curl's `--hsts`. The manager creates the file if it is missing, and saves changes in
    /// ``DownloadManager/shutdown()`` and ``DownloadManager/prepareForSuspension()``. Changes that cannot be saved are
    /// lost when the process ends. Managers and processes can share a file.
    public var hstsFile: URL?
    /// Whether the times and connections of each request are measured: see ``Download/metrics`` and
    /// ``DownloadEvent/requestEnded(_:)``.
    public var collectsMetrics = false
    /// The HTTP implementation.
    public var transport = TransportChoice.automatic
    /// The `User-Agent` field of each request.
    public var userAgent = "headrace/\(headraceVersion)"

    /// Creates a configuration with the default settings, which the closure can change.
    /// - Parameter configure: Changes the default settings.
    public init(_ configure: (inout DownloadConfiguration) -> Void = { _ in }) {
        configure(&self)
    }

    /// The kinds of failure that finished files and resume records survive.
    public enum Durability: Sendable, Hashable {
        /// Files and records survive a crash of the process and an orderly restart of the system, but not a power
        /// failure.
        ///
        /// Only partial files of stopped downloads are synced. A power failure loses the bytes of running downloads,
        /// and may damage finished files.
        case none
        /// Files and records survive power failures too: data is synced before a resume record or final name refers to
        /// it.
        case full
    }

    /// Throws `invalidRequest` if a setting is invalid.
    package func validate() throws(DownloadError) {
        try maxConcurrentDownloads.validate()
        guard maxConcurrentDownloadsPerHost ?? 1 >= 1 else {
            throw DownloadError(
                .invalidRequest,
                "maxConcurrentDownloadsPerHost must be at least 1, or nil for no limit, not \(maxConcurrentDownloadsPerHost ?? 0)."
            )
        }
        guard maxConnectionsPerDownload ?? 1 >= 1, maxConnectionsPerHost >= 1 else {
            throw DownloadError(
                .invalidRequest,
                "maxConnectionsPerDownload and maxConnectionsPerHost must be at least 1, not "
                    + "\(maxConnectionsPerDownload ?? 1) and \(maxConnectionsPerHost)."
            )
        }
        for (name, file) in [
            ("registryDirectory", registryDirectory), ("partialsDirectory", partialsDirectory), ("hstsFile", hstsFile),
            ("certificateAuthorities", certificateAuthorities), ("clientCertificate.file", clientCertificate?.file),
            ("clientCertificate.key", clientCertificate?.key),
        ] {
            guard let file, let fault = file.fileFault else { continue }
            throw DownloadError(.invalidRequest, "\(name) \(fault): \(file.absoluteString).")
        }
        try retryPolicy.validate()
        guard connectTimeout > .zero, stallTimeout > .zero else {
            throw DownloadError(.invalidRequest, "connectTimeout and stallTimeout must be above zero.")
        }
        guard minimumSpeed ?? 1 > 0, timeLimit ?? .seconds(1) > .zero, maxFileSize ?? 0 >= 0 else {
            throw DownloadError(
                .invalidRequest,
                "minimumSpeed and timeLimit must be above zero, and maxFileSize at least zero; nil is for no limit."
            )
        }
        guard maxRedirects >= 0 else {
            throw DownloadError(.invalidRequest, "maxRedirects must be at least zero, not \(maxRedirects).")
        }
        try rateLimit?.validateAsRate()
        for limit in groupRateLimits.values { try limit.validateAsRate() }
        try HeaderField(name: "User-Agent", value: userAgent).validate()
        try connectionPolicy.validate()
        try validateTLS()
        try validateProxy()
    }
}

/// The version of the library, such as `0.1.0`.
public let headraceVersion = "0.1.0"
