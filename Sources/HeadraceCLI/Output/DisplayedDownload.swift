import Headrace
import HeadracePlatform

/// One download as the output knows it.
struct DisplayedDownload: Sendable, Equatable {
    let id: String
    /// Without user and password.
    let url: String
    /// The file's name, as far as it is known.
    var name: String
    /// Where the file is to be, as soon as the server has answered.
    var plannedPath: String?
    var progress = DownloadProgress()
    /// The bytes of an earlier run that remain, until the response is reported.
    var bytesKept: Int64?
    /// What the file was compared with and is the same, in words.
    var proof: String?
    /// The checksum of that.
    var checksum: Checksum?
    /// False while it waits for another attempt.
    var isRunning = true

    init(id: String, request: DownloadRequest) {
        self.id = id
        url = request.url.withoutCredentials.absoluteString
        switch request.destination {
        case .file(let file): name = file.lastPathComponent
        case .directory:
            let last = request.url.lastName
            name = last.isEmpty || last == "/" ? request.url.host() ?? "download" : last
        }
    }

    /// Takes over what an event tells about the download.
    mutating func apply(_ event: DownloadEvent) {
        switch event {
        case .responded(_, let totalBytes, let file):
            name = file.lastPathComponent
            plannedPath = file.plainPath
            progress.totalBytes = totalBytes
            bytesKept = nil
        case .resumed(_, let kept, _): bytesKept = kept
        case .verified(let checksum):
            self.checksum = checksum
            proof = "\(checksum.algorithm) verified"
        case .piecesVerified(let count): proof = "\(count) pieces verified"
        default: break
        }
    }
}

extension Download {
    /// Where bytes lie before they have their final name.
    var partialPath: String { partialFile.plainPath }
}

extension URL {
    /// The last component of the path, as it stands in the URL where what it encodes is not UTF-8.
    var lastName: String {
        let last = lastPathComponent
        return last.isEmpty ? path(percentEncoded: true).split(separator: "/").last.map(String.init) ?? "" : last
    }

    /// The URL without user and password.
    var withoutCredentials: URL {
        guard user != nil || password != nil, var parts = URLComponents(url: self, resolvingAgainstBaseURL: true)
        else { return self }
        parts.user = nil
        parts.password = nil
        return parts.url ?? self
    }
}
