public import HeadracePlatform

/// A file to download, its destination and the options of the download.
///
///     var request = DownloadRequest(url, to: .directory(folder))
///     request.checksums = [try Checksum(parsing: "sha256:\(digits)")]
///     request.mirrors = [mirror]
///     let file = try await manager.download(request).value
public struct DownloadRequest: Sendable, Hashable {
    /// The URL of the file; `http` or `https`, with a host.
    public var url: URL
    /// Other URLs of the same file, in order of preference; `http` or `https`, with a host.
    ///
    /// If a source rejects the request, or its retries are exhausted, the download continues with the next source. The
    /// received bytes are retained if the next source has the same strong entity tag and length. With a checksum in the
    /// request, the same length is enough, since the complete file is verified. Otherwise the download reports a
    /// restart and begins again at zero. Secret header fields are sent only to the origin of ``url``. See
    /// <doc:Mirrors>.
    public var mirrors: [URL] = []
    /// The time at which ``url`` expires; `nil` if unknown.
    ///
    /// After that time, ``linkProvider`` is called before the next request. Without a provider, the time is ignored.
    public var urlExpires: Date?
    /// The provider of a new URL; `nil` to use ``DownloadConfiguration/linkProvider``, if there is one.
    ///
    /// The provider is called if the current URL has expired, or if the server rejects it with 401, 403, 404 or 410.
    /// The received bytes are validated as on any resume. After three new URLs in a row without progress, the download
    /// continues with ``mirrors`` or fails.
    public var linkProvider: LinkProvider?
    /// A key of the file that stays the same while its URL changes; `nil` to use ``url`` as the key.
    ///
    ///     request.identity = "report-42"
    ///
    /// The signatures in links of Amazon S3, CloudFront, Google Cloud Storage and Azure are not part of the key, so
    /// such links need no identity.
    ///
    /// Downloads with the same identity and destination are the same download: a request with a new URL resumes the
    /// partial file of the old one, and replaces the URL of an active download. The received bytes are validated as on
    /// any resume. The identity is saved in the registry, so it must not be secret.
    public var identity: String?
    /// The location of the finished file: a file, or the directory in which the file is created.
    public var destination: Destination
    /// The action if a file with the destination's name exists, unless ``refetchPolicy`` reuses or replaces that file.
    public var conflictPolicy: ConflictPolicy
    /// The condition under which an existing file is downloaded again.
    public var refetchPolicy = RefetchPolicy.unlessCurrent
    /// The header fields sent with each request of this download, in order.
    ///
    /// A `User-Agent` replaces that of the manager. The library itself sets `Range`, `Host` and similar fields; a
    /// request with one of them, or with a line break in a field, is rejected.
    public var headers: [HeaderField]
    /// The method of the request, in upper case; `HEAD`, `CONNECT` and `TRACE` are rejected.
    ///
    /// A request whose method is not GET uses one connection. Unless ``isRepeatable`` is `true`, it is sent only once,
    /// without retries and without resuming. The only exception is a 401: the request is then sent again with a login.
    ///
    /// Redirects follow RFC 9110, section 15.4: a 303, and a 301 or 302 to a POST, is followed with GET and without the
    /// body; a 307 or 308 with the same method and body.
    public var method = "GET"
    /// The content of a request whose method is not GET; `nil` for none.
    public var body: Body?
    /// Whether a request whose method is not GET, such as a search or a report, may be repeated after failures.
    public var isRepeatable = false
    /// Whether the file may be transferred compressed, and is decompressed once it is complete.
    ///
    /// The request accepts the content codings that the system can decode: gzip, br and zstd (RFC 9110, section 8.4).
    /// The partial file has the compressed bytes, so ranges, resuming and progress refer to these. ``checksums``,
    /// ``pieceHashes`` and ``expectedSize`` refer to the decompressed file, and are verified at the end. See
    /// <doc:Networks>.
    public var decodesContent = false
    /// Whether this download connects only to addresses for which ``IPAddress/isPublic`` is true.
    ///
    /// With this rule, a service can download the URLs of its users with the same manager as internal files. The rule
    /// applies in addition to ``DownloadConfiguration/allowsAddress``: to each connection, to redirects and mirrors,
    /// and also after a restart, because a registry saves it. If a host has no such address, the download fails with
    /// ``DownloadError/Code/addressRefused``.
    ///
    /// Each request opens a connection, because an open one may lead to any address. Proxies from the environment are not
    /// used. With a URL in ``DownloadConfiguration/proxy``, a UNIX socket, `URLSession` or a background session, the
    /// download fails with ``DownloadError/Code/invalidRequest``. Such a request is never merged into an active download
    /// without this rule: adding it is an error.
    public var requiresPublicAddress = false
    /// The validation required to resume a partial file.
    public var resumePolicy: ResumePolicy
    /// The required size of the file in bytes, at least 0; `nil` if unknown.
    ///
    /// A source that announces another size is abandoned before its first byte. If the source announces no size, the
    /// size of the complete file is checked: a file of another size is not renamed; see ``mismatchPolicy``. In both
    /// cases the download fails with ``DownloadError/Code/checksum`` if no source remains.
    ///
    /// If the response announces no size, this value is used for ``DownloadProgress/totalBytes`` and to check the free
    /// disk space.
    public var expectedSize: Int64?
    /// The required checksums of the file; empty if unknown.
    ///
    /// The strongest checksum is computed while the bytes arrive or, if they arrive in several responses, at the end.
    /// If the file does not match it, the file is not renamed: see ``mismatchPolicy``. With a checksum, a partial file
    /// is resumed even without a validator: the checksum verifies the complete file.
    public var checksums: [Checksum] = []
    /// The required checksums of the pieces of the file; `nil` if unknown.
    ///
    /// If the file is wrong, only the wrong pieces are downloaded again. A registry saves the piece hashes of an
    /// unfinished download if the request fits in 256 KiB, which is about 6,000 hashes of SHA-256. A larger
    /// request needs a checksum; otherwise, adding it throws `invalidRequest`. After a restart, its piece hashes are
    /// missing until the same request is added again.
    public var pieceHashes: PieceHashes?
    /// The action if the checksum or size of the complete file is wrong.
    public var mismatchPolicy = MismatchPolicy.keep
    /// The initial priority: waiting downloads start in order of priority, then of position in the queue.
    public var priority = DownloadPriority.normal
    /// The earliest time at which the download may start; `nil` to start without delay.
    ///
    /// The delay is computed when the download is queued and ignores clock changes after that. ``Download/resume()``
    /// ends the delay.
    public var earliestBegin: Date?
    /// Whether the download is added in the `paused` state.
    public var startsPaused = false
    /// The networks on which the download may run; on any other network it waits until the network changes.
    ///
    /// If the system does not report the kind of network, the download runs on any network.
    public var networkPolicy = NetworkPolicy.any
    /// The name of a group of downloads that can be controlled, throttled and observed together; `nil` for none.
    public var group: String?
    /// The rate limit of this download over all its connections, in bytes per second; `nil` for none.
    ///
    /// The limits of the manager and the group apply as well. ``Download/setRateLimit(_:)`` changes the limit later.
    public var rateLimit: Int64?
    /// The time limit for establishing a connection; `nil` for that of the manager.
    public var connectTimeout: Duration?
    /// The time without a received byte after which a transfer counts as stalled; `nil` for that of the manager.
    public var stallTimeout: Duration?
    /// The number of failures in a row that are retried; `nil` for ``RetryPolicy/maxFailures`` of the manager.
    public var maxRetries: Int?
    /// The title of the download, for display.
    public var title: String?
    /// The caller's own metadata, which is saved with the download.
    public var userInfo: [String: String] = [:]
    /// A value of the caller's own, such as an encoded struct, which is saved with the download; `nil` for none.
    ///
    ///     request.userData = try JSONEncoder().encode(episode)
    ///
    /// At most 64 KiB. A registry saves it, so it must not be secret.
    public var userData: Data?

    /// Creates a request for a URL and a destination.
    ///
    /// The request is not validated here, but by ``DownloadManager/download(_:)-(DownloadRequest)``.
    /// - Parameters:
    ///   - url: The URL of the file; `http` or `https`, with a host.
    ///   - destination: The location of the finished file.
    ///   - conflictPolicy: The action if a file with the destination's name exists and is not current. By default, a
    ///     download to a ``Destination/directory(_:)`` gets an unused name, and a ``Destination/file(_:)`` is replaced
    ///     once the download is complete.
    ///   - headers: The header fields sent with each request of this download, in order.
    ///   - resumePolicy: The validation required to resume a partial file.
    public init(
        _ url: URL,
        to destination: Destination,
        conflictPolicy: ConflictPolicy? = nil,
        headers: [HeaderField] = [],
        resumePolicy: ResumePolicy = .validated
    ) {
        self.url = url
        self.destination = destination
        self.conflictPolicy = conflictPolicy ?? destination.defaultConflictPolicy
        self.headers = headers
        self.resumePolicy = resumePolicy
    }
}

extension DownloadRequest {
    /// Not available: a URL alone does not show whether the destination is a file or a directory.
    @available(*, unavailable, message: "Write .file(url), or .directory(url) to let the server name the file.")
    public init(_ url: URL, to destination: URL) {
        self.init(url, to: .file(destination))
    }

    /// The location of a finished file.
    public enum Destination: Sendable, Hashable {
        /// The file at this file URL, whatever name the server proposes.
        ///
        /// A missing directory is created, unless a part of the file was received earlier: the directory may then be on
        /// a disk that is not mounted.
        case file(URL)
        /// A file in the directory at this file URL; a missing directory is created as for ``file(_:)``.
        ///
        /// The file name is the first of these that can be made safe: the server's proposal in `Content-Disposition`
        /// (RFC 6266), the last path component of the URL after redirects, the last path component of
        /// ``DownloadRequest/url``, and `download`. See <doc:Names>.
        case directory(URL)

        /// The default conflict policy: `overwrite` if the caller names the file, `rename` if the server or URL does.
        fileprivate var defaultConflictPolicy: ConflictPolicy {
            switch self {
            case .file: .overwrite
            case .directory: .rename
            }
        }
    }

    /// The action if a file with the destination's name exists.
    public enum ConflictPolicy: String, Sendable, Hashable, CaseIterable {
        /// The new file gets an unused name with a number, such as `name (1).ext`.
        case rename
        /// The download replaces the existing file atomically, once it is complete.
        case overwrite
        /// The existing file is the result, and nothing is downloaded.
        ///
        /// Removing the download does not delete that file.
        case skip
        /// The download fails with ``DownloadError/Code/fileExists``.
        ///
        /// If the caller has named the file, the download fails even if the existing file is current.
        case fail
    }

    /// The action if the checksum or size of the complete file is wrong.
    ///
    /// A wrong file is never renamed to its final name. The download fails with ``DownloadError/Code/checksum`` unless
    /// downloading the file again may help: see <doc:Integrity>.
    public enum MismatchPolicy: String, Sendable, Hashable, CaseIterable {
        /// The bytes are saved beside the destination as `NAME.mismatch`, or as `NAME (1).mismatch` if that name is in
        /// use.
        ///
        /// An empty or incomplete file is deleted. ``DownloadError/savedFile`` is the URL of the saved file. No later
        /// download resumes it or takes it for the finished file.
        case keep
        /// The bytes are deleted.
        case delete
    }

    /// The condition under which an existing file is downloaded again.
    public enum RefetchPolicy: String, Sendable, Hashable, CaseIterable {
        /// The file is always downloaded again; ``ConflictPolicy`` decides what happens to the existing file.
        case always
        /// The file is downloaded again if the server has another version, or if the versions cannot be compared.
        ///
        /// The request is conditional on the file's entity tag, weak or strong, or else on its date (RFC 9110, section
        /// 13.1). If the version is the same, the existing file is the result, and ``DownloadEvent/unchanged(_:)`` is
        /// reported. Otherwise the new version is downloaded and, once complete, replaces the file regardless of
        /// ``DownloadRequest/conflictPolicy-swift.property``.
        ///
        /// With ``DownloadRequest/checksums``, a file that matches them is the result without a request, and any other
        /// file is downloaded again. With ``DownloadRequest/pieceHashes``, the correct pieces of the existing file are
        /// copied and only the wrong pieces are downloaded.
        ///
        /// A finished download saves the entity tag, date, size and modification time of its file in an extended
        /// attribute or, if the file system does not support these, in the manager's registry. A file is downloaded
        /// again if these data are missing, if it came from another URL, or if it was modified after the download.
        case ifChanged
        /// The file is downloaded unless an existing file is the server's current version; ``ConflictPolicy`` decides
        /// what happens to any other existing file.
        ///
        /// Repeating the requests of an interrupted run thus downloads only the missing files. The version is checked
        /// as with ``ifChanged``; a file with a numbered name, such as `name (1).bin`, is recognized as well.
        ///
        /// A file is also downloaded again if it was downloaded with another login, token, client certificate or other
        /// cookies, if another user owns it, or if all users can write it.
        ///
        /// The version is saved as with ``ifChanged``. Without full
        /// ``DownloadConfiguration/durability-swift.property``, the saved version is trusted only until the system
        /// restarts.
        case unlessCurrent
    }

    /// The validation required to resume a partial file instead of downloading it from zero.
    ///
    /// With checksums in the request, a partial file is resumed even without a matching validator: see
    /// ``DownloadRequest/checksums``.
    public enum ResumePolicy: String, Sendable, Hashable, CaseIterable {
        /// A partial file is resumed only with a matching strong validator: an entity tag, or a date old enough to be
        /// strong (RFC 9110, section 8.8.2.2).
        case validated
        /// A partial file is resumed with a matching strong validator or, if the server sends none, with matching
        /// bytes: the last 64 KiB received are downloaded again and must be the same.
        ///
        /// This is a weaker check: if the file has changed only before those bytes, the result mixes two versions.
        case overlap
    }
}

/// An HTTP header field (RFC 9110, section 5).
///
///     request.headers = [HeaderField(name: "X-Api-Key", value: key, isSecret: true)]
public struct HeaderField: Sendable, Hashable {
    /// The name, which is case-insensitive.
    public var name: String
    /// The value, without surrounding blanks.
    public var value: String
    /// Whether the value is sent only to the origin (scheme, host and port) of the request's URL, and never shown or
    /// saved.
    ///
    /// Fields whose names are those of secrets, such as `Authorization`, `Cookie`, `X-Api-Key`, `Private-Token` or
    /// `X-Amz-Security-Token`, are always secret. `Origin` and `Referer` are treated as secret, except that they are
    /// saved. After a redirect to another origin, secret fields are not sent again, even if a later redirect leads back
    /// to the first origin.
    public var isSecret: Bool
    /// Whether the field is sent to every origin, even if it is secret; `false` by default.
    ///
    /// If `true`, mirrors and the targets of redirects receive the secret too. A registry does not save this property.
    public var isSentToAllOrigins = false

    /// Creates a header field.
    /// - Parameters:
    ///   - name: The name, which is case-insensitive.
    ///   - value: The value, without surrounding blanks.
    ///   - isSecret: Whether the value is sent only to the origin of the request's URL, and never shown or saved.
    public init(name: String, value: String, isSecret: Bool = false) {
        self.name = name
        self.value = value
        self.isSecret = isSecret
    }
}

extension HeaderField: CustomStringConvertible, CustomReflectable {
    /// The name and the value, or `(not shown)` for the value of a secret field.
    public var description: String { "\(name): \(shownValue)" }

    /// The properties for `dump` and debuggers, without the value of a secret field.
    public var customMirror: Mirror { Mirror(self, children: ["name": name, "value": shownValue]) }

    private var shownValue: String { identifiesRequester ? "(not shown)" : value }
}
