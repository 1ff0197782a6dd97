import HeadracePlatform

/// The URLs that a file may be fetched from, one after the other, and why those failed that were given up.
///
/// Pure. One that cannot answer now is asked again after those that were not tried; one that failed otherwise is not.
struct SourceList: Sendable, Equatable {
    /// A source that was given up.
    struct Failure: Sendable, Equatable {
        var url: URL
        var error: DownloadError
    }

    /// The answers of a link that has ended.
    static let endedStatuses: Set<Int> = [401, 403, 404, 410]

    private(set) var current: URL
    /// Whether it is the request's own, or a new link in its place, and no mirror.
    private(set) var isOrigin = true
    /// Whether it is the one that each run asks first, or a new link of its host.
    var isFirst: Bool { isOrigin && (current == origin || current.host() == origin.host()) }
    private let origin: URL
    /// When ``current`` ends, as far as that is known.
    private(set) var expires: Date?
    private var untried: [URL]
    /// Those of which an answer told, not the request.
    private var joined: Set<URL> = []
    private var postponed: [URL] = []
    /// The last failure of each source, in the order of the first ones.
    private(set) var failures: [Failure] = []

    init(_ request: borrowing DownloadRequest) {
        origin = request.url
        current = request.url
        expires = request.urlExpires
        untried = []
        guard !request.mirrors.isEmpty else { return }
        var known: Set<URL> = [request.url]
        untried = request.mirrors.filter { known.insert($0).inserted }
    }

    /// Adds sources behind those that are named already.
    mutating func join(_ urls: [URL]) {
        var known = Set([origin, current] + untried + postponed + failures.map(\.url))
        let new = urls.filter { known.insert($0).inserted }
        untried += new
        joined.formUnion(new)
    }

    /// Whether only an answer told of a source.
    func isAdvertised(_ source: URL) -> Bool { joined.contains(source) }

    /// Asks none of those any more of which only an answer told.
    mutating func forgetJoined() {
        guard !joined.isEmpty else { return }
        untried.removeAll(where: joined.contains)
        postponed.removeAll(where: joined.contains)
    }

    /// Whether to go on with another source instead of asking this one again.
    ///
    /// One that cannot be reached is asked again first where bytes of it are held, which another one would have to prove.
    func leavesAtOnce(_ error: DownloadError, holdingBytes: Bool = false) -> Bool {
        guard !untried.isEmpty else { return false }
        guard let status = error.statusCode else {
            return !holdingBytes && (error.code == .connection || error.code == .nameResolution)
        }
        return [403, 404, 410].contains(status) || status >= 500
    }

    /// Whether there is another one to go on with.
    var hasNext: Bool { !untried.isEmpty || !postponed.isEmpty }

    /// The sources that may have the file as well.
    var others: [URL] { untried + postponed }

    /// Asks a source that was not tried while the present one asks to wait; nil where there is none.
    mutating func postpone() -> URL? {
        guard !untried.isEmpty else { return nil }
        postponed.append(current)
        take(untried.removeFirst())
        return current
    }

    /// Gives up the source for an error that is not to be waited for; returns the next one.
    ///
    /// Throws the error where it is not the source's, or where there is no other: then one that names all sources.
    mutating func next(after error: DownloadError, holdingBytes: Bool = false) throws(DownloadError) -> URL {
        guard error.isSourceFailure else { throw error }
        if let index = failures.firstIndex(where: { $0.url == current }) {
            failures[index].error = error
        } else {
            failures.append(Failure(url: current, error: error))
        }
        if leavesAtOnce(error, holdingBytes: holdingBytes), error.isTransient { postponed.append(current) }
        guard hasNext else { throw summary }
        take(untried.isEmpty ? postponed.removeFirst() : untried.removeFirst())
        return current
    }

    private mutating func take(_ source: URL) {
        current = source
        isOrigin = current == origin
        expires = nil
    }

    /// Takes a new link in the place of the present source.
    mutating func renew(_ link: DownloadRequest.Link) {
        current = link.url
        expires = link.expires
    }

    /// Why none of the sources had the file: the one reason, or all of them in one sentence.
    private var summary: DownloadError {
        let first = failures[0].error
        guard failures.count > 1 else { return first }
        let reasons = failures.map { "\($0.url.withoutQuery): \($0.error.message.withoutFullStop)" }
        let status = first.statusCode
        var error = DownloadError(
            first.code,
            "None of the \(failures.count) sources gave the file. \(reasons.joined(separator: "; ")).",
            statusCode: failures.allSatisfy { $0.error.statusCode == status } ? status : nil,
            cause: first
        )
        error.savedFile = failures.lazy.compactMap(\.error.savedFile).first
        return error
    }
}

extension DownloadError {
    /// Whether another source of the same file may do better.
    fileprivate var isSourceFailure: Bool {
        let codes: Set<Code> = [
            .nameResolution, .addressRefused, .connection, .tls, .stalled, .connectionLost, .httpStatus, .redirect,
            .protocolViolation, .resourceChanged, .unexpectedContent, .checksum,
        ]
        return codes.contains(code)
    }
}
