public import HeadracePlatform

/// Derives the paths of the partial file and the final file from a request.
///
/// To save memory, it stores nothing that it can compute: each download in a queue has an instance.
struct DestinationPaths: Sendable {
    /// The path of the partial file beside the destination; it depends only on the request, so that a later run finds
    /// it.
    ///
    /// If the configuration has a directory for partial files, the file has the path ``partialPath(in:)`` instead; this
    /// path then only identifies the partial file.
    let partialPath: String
    private let directoryLength: Int
    /// The length in bytes of the suffix that ``partialPath`` adds to ``plannedPath``.
    ///
    /// 0 if ``partialPath`` does not begin with ``plannedPath``, because the name was truncated, or derived from the
    /// request's identity.
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
        // A closure cannot capture the borrowed request on Apple platforms.
        let (key, hasIdentity) = (request.key, request.identity != nil)
        let suffix = Fingerprint(url: key, name: (fixedName ?? "") + request.operation).suffix
        // The resume record's name is the partial file's name with further suffixes.
        let maxBytes = SafeFileName.maxBytes - RecordFile.longestSuffix
        let name = fixedName ?? SafeFileName.forDownload(finalURL: key, requestURL: key)
        let isPlanned = fixedName != nil || !hasIdentity
        suffixLength = isPlanned && name.utf8.count + suffix.utf8.count <= maxBytes ? suffix.utf8.count : 0
        var path = directory
        path.reserveCapacity(directoryLength + 1 + name.utf8.count + suffix.utf8.count)
        path += "/"
        path += SafeFileName.truncated(name, to: maxBytes, suffix: suffix)
        partialPath = path
    }

    /// Returns the path of the partial file in the directory `partials`, which is for all destinations.
    ///
    /// The fingerprint in the file's name includes the destination's directory. If `partials` is `nil`, returns
    /// ``partialPath``, whose fingerprint does not.
    func partialPath(in partials: URL?) -> String {
        guard let partials else { return partialPath }
        var identity = partialPath
        #if canImport(Darwin)
        // The container of an app may move, and its home directory with it.
        let home = URL.homeDirectory.filePath
        if identity.hasPrefix(home) { identity.removeFirst(home.count) }
        #endif
        let suffix = Fingerprint(identity).suffix
        let name = String(decoding: name(of: partialPath).utf8.dropLast(suffix.utf8.count), as: UTF8.self)
        return Self.withoutTrailingSlashes(partials.filePath) + "/" + name + suffix
    }

    /// The directory of the destination.
    var directory: String { partialPath.withBytes { String(decoding: $0.prefix(directoryLength), as: UTF8.self) } }

    /// The final path if the caller chose the file name; otherwise `nil`, because the path depends on the response.
    var knownPath: String? { fixedName.map { directory + "/" + $0 } }

    /// The final path according to the request alone.
    ///
    /// If the caller chose no name, the file may get another one, because the server may propose a name or redirect.
    var plannedPath: String {
        guard suffixLength == 0 else {
            return partialPath.withBytes { String(decoding: $0.dropLast(suffixLength), as: UTF8.self) }
        }
        return knownPath ?? directory + "/" + SafeFileName.forDownload(finalURL: requestURL, requestURL: requestURL)
    }

    /// Returns the final path for a response.
    ///
    /// The name is the one that the caller chose, else one that the server proposes, else one derived from the URLs.
    func path(for head: ResponseHead) -> String { otherPath(for: head) ?? plannedPath }

    /// Returns the final path for a response; `nil` if nothing in the response can change ``plannedPath``.
    func otherPath(for head: ResponseHead) -> String? {
        guard fixedName == nil else { return nil }
        let proposals = ContentDisposition(of: head).fileNames
        guard !proposals.isEmpty || head.url != requestURL else { return nil }
        return directory + "/" + SafeFileName.forDownload(proposals, finalURL: head.url, requestURL: requestURL)
    }

    /// Returns the last component of a path in the destination directory.
    func name(of path: String) -> String {
        // Uses bytes, since a name that begins with a combining mark forms one character with the slash before it.
        path.withBytes { String(decoding: $0.dropFirst(directoryLength + 1), as: UTF8.self) }
    }

    /// Returns whether a path is directly in the destination directory.
    func contains(_ path: String) -> Bool {
        let count = directoryLength
        let isBelow = path.withBytes { path in
            partialPath.withBytes {
                path.count > count && path[count] == UInt8(ascii: "/") && path[..<count].elementsEqual($0[..<count])
            }
        }
        return isBelow && SafeFileName.isComponent(name(of: path))
    }

    private static func withoutTrailingSlashes(_ path: String) -> String {
        guard path.utf8.last == UInt8(ascii: "/") else { return path }
        let last = path.utf8.lastIndex { $0 != UInt8(ascii: "/") }
        return String(path[..<(last.map(path.utf8.index(after:)) ?? path.startIndex)])
    }
}

extension DownloadSnapshot {
    /// The name of the finished file.
    ///
    /// Until the download has finished, the name according to the request. The finished file may get another one,
    /// because the server may propose a name or redirect, or because the name may be taken.
    public var name: String {
        if let file = state.fileURL { return file.lastPathComponent }
        let names = DestinationPaths(request)
        return names.name(of: names.plannedPath)
    }

    /// The path of the partial file, whether it exists or not.
    public var partialFile: URL { URL(filePath: DestinationPaths(request).partialPath(in: partialsDirectory)) }
}
