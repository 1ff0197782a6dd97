import HeadracePlatform

/// The URLs from which a file can be downloaded, in the order in which they are tried, and the errors of those that
/// failed.
///
/// Performs no I/O. A source is tried again after all untried ones if its host required a wait, or if it was abandoned
/// after a transient error for which `leavesAtOnce` is `true`. Other failed sources are not tried again.
struct SourceList: Sendable, Equatable {
    /// A source that has failed, and its last error.
    struct Failure: Sendable, Equatable {
        var url: URL
        var error: DownloadError
    }

    /// The HTTP statuses with which servers reject an expired link.
    static let endedStatuses: Set<Int> = [401, 403, 404, 410]

    private(set) var current: URL
    /// Whether ``current`` is the request's own URL or a new link that replaced it, and not a mirror.
    private(set) var isOrigin = true
    /// Whether ``current`` is the request's own URL or a new link on the same host.
    var isFirst: Bool { isOrigin && (current == origin || current.host() == origin.host()) }
    /// The request's own URL.
    let origin: URL
    /// The present link to the file on the origin: the request's own URL, or the latest new link.
    private var link: DownloadRequest.Link
    /// The time at which ``current`` expires, if known.
    var expires: Date? { isOrigin ? link.expires : nil }
    private var untried: [URL]
    /// The sources that a response advertised, without the ones in the request.
    private var advertised: Set<URL> = []
    private var postponed: [URL] = []
    /// The last failure of each source, in the order in which the sources first failed.
    private(set) var failures: [Failure] = []

    init(_ request: borrowing DownloadRequest) {
        origin = request.url
        current = request.url
        link = request.link
        untried = []
        guard !request.mirrors.isEmpty else { return }
        var known: Set<URL> = [request.url]
        untried = request.mirrors.filter { known.insert($0).inserted }
    }

    /// Adds the URLs that are not known yet as sources, in the given order, after the other untried ones.
    mutating func join(_ urls: [URL]) {
        var known = Set([origin, link.url, current] + untried + postponed + failures.map(\.url))
        let new = urls.filter { known.insert($0).inserted }
        untried += new
        advertised.formUnion(new)
    }

    /// Whether a source was advertised by a response and is not in the request.
    func isAdvertised(_ source: URL) -> Bool { advertised.contains(source) }

    /// Removes the untried and postponed sources that were advertised by a response and are not in the request.
    mutating func forgetAdvertised() {
        guard !advertised.isEmpty else { return }
        untried.removeAll(where: advertised.contains)
        postponed.removeAll(where: advertised.contains)
    }

    /// Whether to switch to an untried source after this error instead of retrying the current one; `false` if none is
    /// left.
    ///
    /// If `holdingBytes` is `true`, a source with a transient error is retried first, since another source might not
    /// match the received bytes.
    func leavesAtOnce(_ error: DownloadError, holdingBytes: Bool = false) -> Bool {
        guard !untried.isEmpty else { return false }
        guard let status = error.statusCode else {
            return !holdingBytes && [.connection, .nameResolution, .stalled].contains(error.code)
        }
        if [403, 404, 410].contains(status) { return true }
        guard !holdingBytes || !error.isTransient else { return false }
        return status == 429 && error.retryAfter != nil ? indexOnOtherHost != nil : status >= 500
    }

    /// The index of the first untried source on another host than the current source; used if the host of the current
    /// source requires a wait.
    private var indexOnOtherHost: Int? { untried.firstIndex { $0.lowercasedHost != current.lowercasedHost } }

    /// Whether there is another source to try.
    var hasNext: Bool { hasUntried || !postponed.isEmpty }

    var hasUntried: Bool { !untried.isEmpty }

    /// The untried sources, followed by the sources to try again.
    var others: [URL] { untried + postponed }

    /// Switches to an untried source or, if none is left, to a postponed one for which `isReady` returns `true`, while
    /// the current one requires a wait; returns the new source, or `nil` if there is none.
    mutating func postpone(isReady: (URL) -> Bool) -> URL? {
        let next: URL
        if hasUntried {
            next = untried.removeFirst()
        } else if let index = postponed.firstIndex(where: isReady) {
            next = postponed.remove(at: index)
        } else {
            return nil
        }
        postponed.append(current)
        take(next)
        return current
    }

    /// Switches to the next source after an error of the current one, and returns the next one.
    ///
    /// If the error is transient and `leavesAtOnce` is `true` for it, the current source is tried again later; for a
    /// status, even with `holdingBytes`.
    ///
    /// Throws `error` if another source would not help. If no source is left, throws an error that lists the failures
    /// of all sources.
    mutating func next(after error: DownloadError, holdingBytes: Bool = false) throws(DownloadError) -> URL {
        guard error.isSourceFailure else { throw error }
        if let index = failures.firstIndex(where: { $0.url == current }) {
            failures[index].error = error
        } else {
            failures.append(Failure(url: current, error: error))
        }
        let isPostponed = leavesAtOnce(error, holdingBytes: holdingBytes && error.statusCode == nil)
        if isPostponed, error.isTransient { postponed.append(current) }
        guard hasNext else { throw summary }
        let index = error.statusCode == 429 ? indexOnOtherHost ?? 0 : 0
        take(untried.isEmpty ? postponed.removeFirst() : untried.remove(at: index))
        return current
    }

    private mutating func take(_ source: URL) {
        current = source
        isOrigin = current == link.url
    }

    /// Replaces the link to the origin by a new one; the origin must be the current source.
    mutating func renew(_ link: DownloadRequest.Link) {
        self.link = link
        current = link.url
    }

    /// The error that explains why no source had the file: the only error, or all errors in one sentence.
    ///
    /// If a source sent a file with a wrong checksum, its error determines the code, because it says more than the
    /// others.
    private var summary: DownloadError {
        let wrong = failures.last { $0.error.code == .checksum }
        let first = wrong?.error ?? failures[0].error
        guard failures.count > 1 else { return first }
        let reasons = failures.map { "\($0.url.withoutQuery): \($0.error.message.withoutFullStop)" }
        let status = first.statusCode
        var error = DownloadError(
            first.code,
            "None of the \(failures.count) sources delivered the file. \(reasons.joined(separator: "; ")).",
            statusCode: failures.allSatisfy { $0.error.statusCode == status } ? status : nil,
            cause: first
        )
        error.savedFile = failures.compactMap(\.error.savedFile).last
        return error
    }
}

extension DownloadError {
    /// Whether the error is about one source, so that another source of the same file may succeed.
    fileprivate var isSourceFailure: Bool {
        let codes: Set<Code> = [
            .nameResolution, .addressRefused, .connection, .tls, .stalled, .connectionLost, .httpStatus, .redirect,
            .protocolViolation, .resourceChanged, .unexpectedContent, .checksum, .contentCoding,
        ]
        return codes.contains(code)
    }
}
