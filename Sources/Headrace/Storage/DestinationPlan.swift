#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Where a download's file goes: the directory, known from the start, and the name, known from the request or the answer.
struct DestinationPlan: Sendable {
    let directory: String
    private let fixedName: String?
    private let policy: DownloadRequest.ConflictPolicy
    private let calls: FileCalls

    /// Checks that the directory can take files; blocks.
    init(_ request: DownloadRequest, calls: FileCalls) throws(DownloadError) {
        policy = request.conflictPolicy
        self.calls = calls
        switch request.destination {
        case .directory(let url):
            directory = Self.withoutTrailingSlashes(url.filePath)
            fixedName = nil
        case .file(let url):
            directory = Self.withoutTrailingSlashes(url.deletingLastPathComponent().filePath)
            fixedName = url.lastPathComponent
        }
        do {
            try calls.checkDirectory(directory)
        } catch {
            throw .storage("The directory \(directory) cannot take the file", error)
        }
    }

    /// The final path for an answer from `finalURL`.
    func path(finalURL: URL, requestURL: URL) -> String {
        directory + "/" + (fixedName ?? SafeFileName.forDownload(finalURL: finalURL, requestURL: requestURL))
    }

    /// The path of the partial, which only the request decides, so that a later run finds it.
    func partialPath(for url: URL) -> String {
        let name = fixedName ?? SafeFileName.forDownload(finalURL: url, requestURL: url)
        let suffix = ".\(PartialKey(url: url, path: fixedName ?? "")).part"
        // The record's name is longer by its own suffixes.
        let maxBytes = SafeFileName.maxBytes - RecordFile.longestSuffix
        return directory + "/" + SafeFileName.truncated(name, to: maxBytes, suffix: suffix)
    }

    /// The final path as far as it is known before any answer.
    var knownPath: String? { fixedName.map { directory + "/" + $0 } }

    /// Looks whether the name is taken: true means that the file there is the result, and nothing is to be fetched.
    func isSatisfied(by path: String) throws(DownloadError) -> Bool {
        // A free name is looked for at the end, when it is taken in the same step.
        guard policy != .rename else { return false }
        let kind: FileStatus.Kind?
        do {
            kind = try calls.status(path)?.kind
        } catch {
            throw .storage("\(path) cannot be looked up", error)
        }
        switch (kind, policy) {
        case (nil, _), (_, .rename): return false
        case (.directory, _):
            throw DownloadError(.fileSystem, "\(path) is a directory. Choose another name.")
        case (_, .fail):
            throw DownloadError(.fileExists, "\(path) exists already, and it may not be replaced.")
        case (.regular, .skip): return true
        case (.other, .skip):
            throw DownloadError(.fileSystem, "\(path) exists and is not a regular file.")
        case (_, .overwrite): return false
        }
    }

    private static func withoutTrailingSlashes(_ path: String) -> String {
        var path = path
        while path.hasSuffix("/") { path.removeLast() }
        return path
    }
}
