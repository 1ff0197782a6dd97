public import HeadracePlatform

/// The settings of a manager, fixed when it is made.
public struct DownloadConfiguration: Sendable {
    /// How many downloads run at once; at least 1.
    ///
    /// Fewer run if the process may not have that many open files: see <doc:Connections>.
    public var maxConcurrentDownloads = 4
    /// How many downloads from one host run at once; at least 1, or nil for no such limit.
    public var maxConcurrentDownloadsPerHost: Int?
    /// How many connections fetch one file at once; at least 1, or nil for as many as are worth it, up to 8.
    ///
    /// There is more than one only where the server sends ranges of a file and proves that they are of one version.
    public var maxConnectionsPerDownload: Int?
    /// How many connections to one host fetch files at once, over all downloads; at least 1.
    ///
    /// Each download that runs has one in any case. A host that refuses connections gets fewer for a while.
    public var maxConnectionsPerHost = 8
    /// A directory that keeps the list for the next run; nil for a list that ends with the process.
    ///
    /// It is made where it is missing, in a directory that exists, and belongs to one manager at a time: a second one
    /// fails with ``DownloadError/Code/busy``. Secrets of requests are not kept; see ``HeaderField/isSecret``.
    public var registryDirectory: URL?
    /// Whether those that ran when an earlier run ended are paused, instead of waiting for their turn.
    public var restoresPaused = false
    /// Whether downloads run; false for a manager that only keeps the list.
    public var startsDownloads = true
    /// The system's session that fetches the files in the app's place; nil for the manager itself.
    var backgroundSession: BackgroundSessionName?
    /// How long a connection may take to be made, TLS included.
    public var connectTimeout: Duration = .seconds(15)
    /// How long no byte may come before a transfer counts as stalled.
    ///
    /// When one does, other transfers from the same server that have been silent for half of this time are tried again too.
    public var stallTimeout: Duration = .seconds(30)
    /// The bytes per second below which a transfer counts as stalled, once it stays there for ``stallTimeout``.
    ///
    /// Only the time in which bytes are waited for counts, so that a slow disk is not held against the server. Nil
    /// for none.
    public var minimumSpeed: Int64?
    /// The most bytes per second of all downloads together; nil for none.
    ///
    /// ``DownloadManager/setRateLimit(_:)`` changes it while downloads run.
    public var rateLimit: Int64?
    /// Limits of bytes per second by the hours of the day; where there is a ``rateLimit`` too, the lower one holds.
    public var rateSchedule: RateSchedule?
    /// The most bytes per second of all downloads of a group together, by the group's name.
    public var groupRateLimits: [String: Int64] = [:]
    /// How long a download may run, its retries and the waits between them included; nil for as long as it takes.
    ///
    /// A download that takes longer fails with ``DownloadError/Code/timedOut`` and keeps its bytes. The time in which
    /// it waits for its turn does not count.
    public var timeLimit: Duration?
    /// Whether a file is compared with the checksum that its server sends, where the request has none.
    ///
    /// From `Repr-Digest` (RFC 9530), `Digest` (RFC 3230), and in an answer with the whole file also `Content-Digest` and
    /// `Content-MD5`. It finds what went wrong on the way, and no forgery.
    public var checksServerDigests = true
    /// The most bytes that a file may have; nil for as many as the disk has room for.
    ///
    /// A file that is announced to be larger is refused before its first byte, one of unknown size stops there; both
    /// fail with ``DownloadError/Code/fileTooLarge``, and what was held stays.
    public var maxFileSize: Int64?
    /// How many redirects one request may follow.
    public var maxRedirects = 20
    /// Whether a redirect from https to http is followed.
    public var allowsInsecureRedirects = false
    /// Decides whether a connection to an address may be made; nil for every address.
    ///
    /// It is asked before each connection, on each hop of a redirect, with the address itself that is about to be
    /// connected to: so neither a redirect nor a name that resolves otherwise the next time leads past it. With
    /// `{ $0.isPublic }`, a server that fetches what others name is not led to its own machine or network.
    ///
    /// Where a name has several addresses, one that is allowed is enough; where none is, the download fails with
    /// ``DownloadError/Code/addressRefused`` and is not tried again. A connection that is kept for later requests
    /// was asked about when it was made. A proxy would connect to the target by itself, with nobody asked, so with
    /// this set the proxies of the environment (`http_proxy` and its like) are not used, and one that is given in
    /// ``proxy`` is an error.
    ///
    /// The closure runs on the network's thread and has to return at once.
    public var allowsAddress: (@Sendable (IPAddress) -> Bool)?
    /// Whether bytes that an earlier run left are gone on with.
    public var resumesPartialDownloads = true
    /// Whether downloads wait while there is no network, and spend no retry on it.
    ///
    /// With false they are tried all the same, and fail after their retries. What a request's
    /// ``DownloadRequest/networkPolicy-swift.property`` forbids is waited for in any case, and a change of network has
    /// connections made anew in any case.
    public var waitsForConnectivity = true
    /// Which failures are tried again, how often, and after how long.
    public var retryPolicy = RetryPolicy()
    /// What a finished file outlives.
    public var durability = Durability.full
    /// Whether a finished file has the server's time of its last change (`Last-Modified`), where that is not in the future.
    public var setsRemoteTime = true
    /// Whether each finished file keeps, in extended attributes, where it came from and which version it is.
    ///
    /// So that a later request with ``DownloadRequest/RefetchPolicy/ifChanged`` can tell; a request that has this policy
    /// itself keeps them in any case. The address is kept without user, password and query. Unless the file is synced
    /// by ``durability``, it is synced for this.
    public var storesOrigin = false
    /// A PEM file of certificate authorities that replaces the system's.
    ///
    /// An app on Apple platforms needs `NSExceptionAllowsInsecureHTTPLoads` for the domains, since App Transport Security does
    /// not know these authorities: see <doc:Transports>.
    public var certificateAuthorities: URL?
    /// The keys that servers may have, besides a valid certificate; none for any key.
    ///
    /// Each is `sha256//` and the base64 of the SHA-256 of a public key (its SubjectPublicKeyInfo), as in HTTP public key
    /// pinning. They hold for each https server that is connected to, also those that redirects lead to.
    public var pinnedPublicKeys: [String] = []
    /// What is shown to https servers that ask for a certificate of the client; nil for nothing.
    public var clientCertificate: ClientCertificate?
    /// The way to the servers: through a proxy or not.
    public var proxy = Proxy.environment
    /// Asked for a credential when a server answers 401; nil for nobody.
    ///
    /// It is asked once for each refusal, also where several downloads meet the same one, and what it gives is kept in
    /// memory and sent to that origin (scheme, host and port) alone, from then on with each request. Where one is refused,
    /// it is asked once more and told of it in ``CredentialRequest/refused``; the same one again is not sent. Nil leaves
    /// the server's refusal as it is; what it throws becomes the cause of the download's error. A request with an `Authorization` field, or
    /// with user and password in its URL, is not asked about. Where there is a ``DownloadRequest/linkProvider`` too, it is
    /// asked after this.
    ///
    /// Its task is cancelled when the download that asks has to stop; another one that waits asks then.
    public var credentials: (@Sendable (CredentialRequest) async throws -> Credential?)?
    /// Logins by host, tried before ``credentials`` is asked; nil for none.
    ///
    /// That of a machine is sent with each request to its host, the one for all hosts where a server asks for it.
    public var netrc: Netrc?
    /// Keeps the cookies that servers set, and sends them back; nil for none.
    public var cookies: CookieJar?
    /// What carries the requests.
    public var transport = TransportChoice.automatic
    /// The `User-Agent` field of each request.
    public var userAgent = "headrace/\(headraceVersion)"

    /// Creates a configuration and changes what the closure changes.
    /// - Parameter configure: Receives the defaults to change.
    public init(_ configure: (inout DownloadConfiguration) -> Void = { _ in }) {
        configure(&self)
    }

    /// What a finished file, and the record of an unfinished one, outlive.
    public enum Durability: Sendable, Hashable {
        /// The process, and an orderly restart of the system: only what is kept at a stop is synced, so that a power cut costs
        /// the bytes of a download that runs, and may cost a finished file its own.
        case none
        /// A power cut too: data is synced before a record or a name tells of it.
        case full
    }

    /// Throws `invalidRequest` unless the settings can work.
    package func validate() throws(DownloadError) {
        guard maxConcurrentDownloads >= 1 else {
            throw DownloadError(
                .invalidRequest,
                "maxConcurrentDownloads is \(maxConcurrentDownloads); 1 is the least."
            )
        }
        guard maxConcurrentDownloadsPerHost ?? 1 >= 1 else {
            throw DownloadError(
                .invalidRequest,
                "maxConcurrentDownloadsPerHost is \(maxConcurrentDownloadsPerHost ?? 0); 1 is the least, nil is for none."
            )
        }
        guard maxConnectionsPerDownload ?? 1 >= 1, maxConnectionsPerHost >= 1 else {
            throw DownloadError(
                .invalidRequest,
                "maxConnectionsPerDownload is \(maxConnectionsPerDownload ?? 1) and maxConnectionsPerHost "
                    + "\(maxConnectionsPerHost); 1 is the least."
            )
        }
        if let directory = registryDirectory, !directory.isFileURL {
            throw DownloadError(.invalidRequest, "registryDirectory is no file URL: \(directory.absoluteString).")
        }
        try retryPolicy.validate()
        guard connectTimeout > .zero, stallTimeout > .zero else {
            throw DownloadError(.invalidRequest, "A timeout must be longer than nothing.")
        }
        guard minimumSpeed ?? 1 > 0, timeLimit ?? .seconds(1) > .zero, maxFileSize ?? 0 >= 0 else {
            throw DownloadError(
                .invalidRequest,
                "minimumSpeed and timeLimit must be more than nothing, and maxFileSize not less; nil is for none."
            )
        }
        try rateLimit?.validateAsRate()
        for limit in groupRateLimits.values { try limit.validateAsRate() }
        try HeaderField(name: "User-Agent", value: userAgent).validate()
        if let file = certificateAuthorities, !file.isFileURL {
            throw DownloadError(.invalidRequest, "certificateAuthorities is no file URL: \(file.absoluteString).")
        }
        try validateTLS()
        try validateProxy()
    }
}

/// The library's version, as in `0.1.0`.
public let headraceVersion = "0.1.0"
