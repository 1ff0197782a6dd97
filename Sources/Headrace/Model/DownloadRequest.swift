public import HeadracePlatform

/// What to download and where to put it.
public struct DownloadRequest: Sendable, Hashable {
    /// The address to fetch; `http` or `https`, with a host.
    public var url: URL
    /// Other addresses of the same file, in the order in which to ask them; `http` or `https`, with a host.
    ///
    /// Where a source refuses, or fails after its retries, the download goes on with the next one. Bytes that are held are
    /// gone on with where it has the same strong entity tag and length; otherwise the download starts again at zero and
    /// says so. Bytes of two versions are never put together. Secret header fields are sent to the origin of
    /// ``url`` alone.
    public var mirrors: [URL] = []
    /// When ``url`` ends, by the clock on the wall; nil where only an answer tells.
    ///
    /// It matters to ``linkProvider`` alone.
    public var urlExpires: Date?
    /// Asked for a new address when ``url``, or the last new one, answers 401, 403, 404 or 410 or has expired; nil for nobody.
    ///
    /// Bytes that are held are gone on with where the new address proves that it has the same version of the file. After
    /// three addresses in a row that bring no byte the download goes on with ``mirrors``, or fails.
    public var linkProvider: LinkProvider?
    /// The place of the finished file.
    public var destination: Destination
    /// What happens when a file of that name exists already, unless ``refetchPolicy`` has it replaced.
    public var conflictPolicy: ConflictPolicy
    /// Whether a file that is there already is fetched again.
    public var refetchPolicy = RefetchPolicy.unlessCurrent
    /// Header fields sent with each request of this download, in order.
    ///
    /// `Range` and `Host` are the library's own and are refused, as is any field with a line break.
    public var headers: [HeaderField]
    /// What it takes to go on with bytes that are held.
    public var resumePolicy: ResumePolicy
    /// How many bytes the file has to have, at least 0; nil where nobody knows.
    ///
    /// A source that tells another size is left before its first byte. A file that comes without a length and has another one
    /// in the end does not get its name: see ``mismatchPolicy``. Both are ``DownloadError/Code/checksum``. Where no answer
    /// tells a length, this is what free space and ``DownloadProgress/totalBytes`` are reckoned by.
    public var expectedSize: Int64?
    /// What the file has to hash to; empty where nobody knows.
    ///
    /// The strongest one is computed, while the bytes come or, where they came in several answers, at the end. Without a match
    /// the file does not get its name: see ``mismatchPolicy``. Where no validator proves that held bytes are still of the
    /// server's version, they are gone on with all the same, since this proves it in the end.
    public var checksums: [Checksum] = []
    /// What the pieces of the file have to hash to; nil where nobody knows.
    ///
    /// Of a file that is wrong, only the wrong pieces are fetched again. A list on the disk keeps them until
    /// the file is there, where the request with them takes no more than 256 KiB, as with 6,000 of SHA-256; else the same request,
    /// added to the manager again, brings them back.
    public var pieceHashes: PieceHashes?
    /// What happens to the bytes of a complete file whose checksum or size is wrong.
    public var mismatchPolicy = MismatchPolicy.keep
    /// Decides, before the order of the list, when it is the download's turn.
    public var priority = DownloadPriority.normal
    /// The time before which the download does not begin; nil for none.
    ///
    /// How long that is, is reckoned when the download is added. ``Download/resume()`` begins sooner.
    public var earliestBegin: Date?
    /// Whether the download is paused from the start.
    public var startsPaused = false
    /// On which networks the download may run; elsewhere it waits, and goes on by itself when it may.
    ///
    /// On a platform or in a place where nobody tells what the network is, it runs on each.
    public var networkPolicy = NetworkPolicy.any
    /// What the download belongs to, for verbs on all of a group and its progress as a whole; nil for nothing.
    public var group: String?
    /// The most bytes per second of this download, over all its connections; nil for none.
    ///
    /// The limits of the manager and of the group hold as well. ``Download/setRateLimit(_:)`` changes it.
    public var rateLimit: Int64?
    /// What the download is called, for people.
    public var title: String?
    /// The caller's own notes, which travel with the download.
    public var userInfo: [String: String] = [:]

    /// Creates a request for a URL and a destination.
    ///
    /// Nothing is checked here: ``DownloadManager/download(_:)-(DownloadRequest)`` throws for a request that cannot be
    /// made.
    /// - Parameters:
    ///   - url: The address to fetch; `http` or `https`, with a host.
    ///   - destination: The place of the finished file.
    ///   - conflictPolicy: What happens if a file of that name exists already and is not current. By default a file in a
    ///     ``Destination/directory(_:)`` gets a free name, and a ``Destination/file(_:)`` is replaced once the download is complete.
    ///   - headers: Header fields sent with each request of this download, in order.
    ///   - resumePolicy: What it takes to go on with bytes that are held.
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
    /// The place of a finished file.
    public enum Destination: Sendable, Hashable {
        /// A file with this file URL, whatever name the server proposes; its directory is made where it is missing,
        /// unless bytes have come before: then what is missing is perhaps a disk.
        case file(URL)
        /// A file in this directory, which is made where it is missing, with the first name that can be made safe: the
        /// server's proposal in `Content-Disposition` (RFC 6266), the last path component of the final URL, that of
        /// ``DownloadRequest/url``, and `download`.
        case directory(URL)

        /// A name that the caller chose stays; one that the server or the URL gives is counted up.
        fileprivate var defaultConflictPolicy: ConflictPolicy {
            switch self {
            case .file: .overwrite
            case .directory: .rename
            }
        }
    }

    /// What happens when the destination's name is taken.
    public enum ConflictPolicy: String, Sendable, Hashable, CaseIterable {
        /// The new file gets a free name: `name (1).ext`.
        case rename
        /// The finished download replaces the file, atomically and not before it is complete.
        case overwrite
        /// The file that exists is the result, and nothing is fetched; it stays where the download is removed with its file.
        case skip
        /// The download fails with ``DownloadError/Code/fileExists``.
        case fail
    }

    /// What happens to the bytes of a complete file whose checksum or size is wrong.
    ///
    /// The file never gets its name, and the download fails with ``DownloadError/Code/checksum`` unless another download of the file
    /// may be right: see <doc:Integrity>.
    public enum MismatchPolicy: String, Sendable, Hashable, CaseIterable {
        /// They are saved beside the destination as `NAME.mismatch`, or `NAME (1).mismatch` if another file has that name.
        ///
        /// ``DownloadError/savedFile`` is the place. No later download resumes that file or takes it for the finished one.
        case keep
        /// They are deleted.
        case delete
    }

    /// Whether a file that an earlier download left under the name is fetched again.
    public enum RefetchPolicy: String, Sendable, Hashable, CaseIterable {
        /// Whatever is there; ``ConflictPolicy`` tells what becomes of it.
        case always
        /// Where the server has another version than the file is, or where that cannot be told.
        ///
        /// The server is asked with the entity tag of the file, weak or strong, else with its date (RFC 9110, section 13.1).
        /// Where it has the same version, the file is the result, as ``DownloadEvent/unchanged(_:)`` tells. Otherwise the
        /// new version is fetched as a whole, and replaces the file when it is complete, whatever ``conflictPolicy`` says.
        ///
        /// Where the request has ``DownloadRequest/checksums``, they decide instead, and no server is asked about a file that
        /// has them. Where it has ``DownloadRequest/pieceHashes``, the pieces of the file that are right are copied, and only the
        /// others are fetched.
        ///
        /// A finished download keeps tag, date, size and time of its file in an extended attribute of it, or where its file
        /// system has none, in the manager's registry. A file without them, from another URL, or changed since, is fetched
        /// again.
        case ifChanged
        /// Unless a file that is there is the server's present version; ``ConflictPolicy`` tells what becomes of any other.
        ///
        /// So that the same requests again, after a run that was stopped, fetch what is missing and nothing twice. The server is
        /// asked as with ``ifChanged``; a file whose name was counted up is found as well.
        ///
        /// A file that was downloaded with another login, other cookies, another token or another client certificate is not
        /// current, and neither is a file that belongs to another user or that everybody can write: it is fetched again.
        ///
        /// A finished download keeps what tells the version as with ``ifChanged``. Without full
        /// ``DownloadConfiguration/durability-swift.property`` that is believed until the system starts again.
        case unlessCurrent
    }

    /// What it takes to go on with bytes that are held, instead of starting at zero.
    public enum ResumePolicy: String, Sendable, Hashable, CaseIterable {
        /// A strong validator: an entity tag, or a date that is old enough (RFC 9110, section 8.8).
        case validated
        /// Where the server sends no such validator, the last 64 KiB that are held, fetched again and found the same.
        ///
        /// That is evidence, not proof: where a file changed before those bytes only, the result is of two versions.
        case overlap
    }
}

/// One HTTP header field (RFC 9110, section 5).
public struct HeaderField: Sendable, Hashable {
    /// The field's name; compared without regard to case.
    public var name: String
    /// The field's value, without surrounding blanks.
    public var value: String
    /// Whether the field stays with the origin (scheme, host and port) of the request's URL, and its value is shown nowhere.
    ///
    /// `Authorization`, `Cookie`, `Origin`, `Proxy-Authorization` and `Referer` are kept so without the mark. After a
    /// redirect to another origin the field is not sent again, also not where the next redirect leads back.
    public var isSecret: Bool

    /// Creates a header field.
    /// - Parameters:
    ///   - name: The field's name.
    ///   - value: The field's value.
    ///   - isSecret: Whether the field stays with the origin of the request's URL, and its value is shown nowhere.
    public init(name: String, value: String, isSecret: Bool = false) {
        self.name = name
        self.value = value
        self.isSecret = isSecret
    }
}

extension HeaderField: CustomStringConvertible, CustomReflectable {
    /// The name and the value, which is left out where it is a secret.
    public var description: String { "\(name): \(shownValue)" }

    /// What `dump` and debuggers show: the same as ``description``.
    public var customMirror: Mirror { Mirror(self, children: ["name": name, "value": shownValue]) }

    private var shownValue: String { isBoundToOrigin ? "(not shown)" : value }
}
