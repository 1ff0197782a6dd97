public import HeadracePlatform

/// The paths that a request means.
///
/// A list holds one for each of its downloads: what can be had from the path or the request is not kept beside them.
struct DestinationPaths: Sendable {
    /// The path of the partial, which only the request decides, so that a later run finds it.
    let partialPath: String
    private let directoryLength: Int
    /// Of ``partialPath``, what is behind the file's name; 0 where that name had to be cut.
    private let suffixLength: Int
    private let requestURL: URL
    private let fixedName: String?

    init(_ request: borrowing DownloadRequest) {
        requestURL = request.url
        let directory: String
        switch request.destination {
        case .directory(let url):
            directory = Self.withoutTrailingSlashes(url.filePath)
            fixedName = nil
        case .file(let url):
            directory = Self.withoutTrailingSlashes(url.deletingLastPathComponent().filePath)
            fixedName = url.lastPathComponent
        }
        directoryLength = directory.utf8.count
        let suffix = Fingerprint(url: requestURL, name: fixedName ?? "").suffix
        // The record's name is longer by its own suffixes.
        let maxBytes = SafeFileName.maxBytes - RecordFile.longestSuffix
        let name = fixedName ?? SafeFileName.forDownload(finalURL: requestURL, requestURL: requestURL)
        suffixLength = name.utf8.count + suffix.utf8.count <= maxBytes ? suffix.utf8.count : 0
        var path = directory
        path.reserveCapacity(directoryLength + 1 + name.utf8.count + suffix.utf8.count)
        path += "/"
        path += SafeFileName.truncated(name, to: maxBytes, suffix: suffix)
        partialPath = path
    }

    var directory: String { String(decoding: partialPath.utf8.prefix(directoryLength), as: UTF8.self) }

    /// The final path as far as it is known before any answer.
    var knownPath: String? { fixedName.map { directory + "/" + $0 } }

    /// The final path as far as the request tells: what the file is called if the request is not redirected.
    var plannedPath: String {
        guard suffixLength == 0 else { return String(decoding: partialPath.utf8.dropLast(suffixLength), as: UTF8.self) }
        return knownPath ?? directory + "/" + SafeFileName.forDownload(finalURL: requestURL, requestURL: requestURL)
    }

    /// The final path for an answer: by the caller's name, else by what the server proposes, else by the URLs.
    func path(for head: ResponseHead) -> String { otherPath(for: head) ?? plannedPath }

    /// The final path that an answer gives in the place of ``plannedPath``; nil where it stays with that.
    func otherPath(for head: ResponseHead) -> String? {
        guard fixedName == nil else { return nil }
        let proposals = ContentDisposition(of: head).fileNames
        guard !proposals.isEmpty || head.url != requestURL else { return nil }
        return directory + "/" + SafeFileName.forDownload(proposals, finalURL: head.url, requestURL: requestURL)
    }

    /// The last component of a path in the directory.
    func name(of path: String) -> String {
        // By bytes, since a name that begins with a combining mark makes one character with the slash before it.
        String(decoding: path.utf8.dropFirst(directoryLength + 1), as: UTF8.self)
    }

    /// Whether a path is one component below the directory.
    func contains(_ path: String) -> Bool {
        let (folder, slash) = (partialPath.utf8.prefix(directoryLength), UInt8(ascii: "/"))
        return path.utf8.starts(with: folder) && path.utf8.dropFirst(directoryLength).first == slash
            && SafeFileName.isComponent(name(of: path))
    }

    private static func withoutTrailingSlashes(_ path: String) -> String {
        let last = path.utf8.lastIndex { $0 != UInt8(ascii: "/") }
        return String(path[..<(last.map(path.utf8.index(after:)) ?? path.startIndex)])
    }
}

extension DownloadSnapshot {
    /// Where bytes lie before they have their final name, whether there are any or not.
    public var partialFile: URL { URL(filePath: DestinationPaths(request).partialPath) }
}
