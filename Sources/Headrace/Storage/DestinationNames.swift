#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The paths that a request means.
struct DestinationNames: Sendable {
    let directory: String
    /// The path of the partial, which only the request decides, so that a later run finds it.
    let partialPath: String
    private let requestURL: URL
    private let fixedName: String?
    /// What the file is called if the request is not redirected.
    private let plannedName: String

    init(_ request: DownloadRequest) {
        requestURL = request.url
        switch request.destination {
        case .directory(let url):
            directory = Self.withoutTrailingSlashes(url.filePath)
            fixedName = nil
        case .file(let url):
            directory = Self.withoutTrailingSlashes(url.deletingLastPathComponent().filePath)
            fixedName = url.lastPathComponent
        }
        plannedName = fixedName ?? SafeFileName.forDownload(finalURL: requestURL, requestURL: requestURL)
        let suffix = ".\(PartialKey(url: requestURL, name: fixedName ?? "")).part"
        // The record's name is longer by its own suffixes.
        let maxBytes = SafeFileName.maxBytes - RecordFile.longestSuffix
        partialPath = directory + "/" + SafeFileName.truncated(plannedName, to: maxBytes, suffix: suffix)
    }

    /// The final path as far as it is known before any answer.
    var knownPath: String? { fixedName.map { directory + "/" + $0 } }

    /// The final path for an answer from `finalURL`.
    func path(finalURL: URL) -> String {
        let isPlanned = fixedName != nil || finalURL == requestURL
        let name = isPlanned ? plannedName : SafeFileName.forDownload(finalURL: finalURL, requestURL: requestURL)
        return directory + "/" + name
    }

    /// The last component of a path in the directory.
    func name(of path: String) -> String {
        String(path.dropFirst(directory.count + 1))
    }

    private static func withoutTrailingSlashes(_ path: String) -> String {
        var path = path
        while path.hasSuffix("/") { path.removeLast() }
        return path
    }
}
