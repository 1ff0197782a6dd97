import Headrace

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// One download as the output knows it.
struct Item: Sendable, Equatable {
    let id: String
    /// Without user and password.
    let url: String
    /// The file's name, as far as it is known.
    var name: String
    /// Where the file is to be, as soon as the server has answered.
    var plannedPath: String?
    var progress = DownloadProgress()
    /// False while it waits for another attempt.
    var isRunning = true

    init(id: String, request: DownloadRequest) {
        self.id = id
        url = request.url.withoutCredentials.absoluteString
        switch request.destination {
        case .file(let file): name = file.lastPathComponent
        case .directory:
            let last = request.url.lastPathComponent
            name = last.isEmpty || last == "/" ? request.url.host() ?? "download" : last
        }
    }

    /// Takes over what an event tells about the download.
    mutating func apply(_ event: DownloadEvent) {
        guard case .responded(_, let totalBytes, let file) = event else { return }
        name = file.lastPathComponent
        plannedPath = file.path(percentEncoded: false)
        progress.totalBytes = totalBytes
    }
}

extension Download {
    /// Where bytes lie before they have their final name.
    var partialPath: String { partialFile.path(percentEncoded: false) }
}

extension URL {
    /// The URL without user and password.
    var withoutCredentials: URL {
        guard user != nil || password != nil, var parts = URLComponents(url: self, resolvingAgainstBaseURL: true)
        else { return self }
        parts.user = nil
        parts.password = nil
        return parts.url ?? self
    }
}
