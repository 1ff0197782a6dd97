import Headrace
import HeadracePlatform

/// A download's properties that messages and progress lines show.
struct DisplayedDownload: Sendable, Equatable {
    let id: String
    /// The URL without user name and password; a new one once the download has started with it.
    var url: String
    /// The name of the file: from the request until the server has responded, then from the response.
    var name: String
    /// The path of the destination, once the server has responded.
    var plannedPath: String?
    var progress = DownloadProgress()
    /// The number of bytes already received when the download was resumed.
    ///
    /// `nil` if the download was not resumed, or if its response has already been reported.
    var bytesKept: Int64?
    /// The result of a successful verification as shown in messages, such as `sha256 verified`.
    var proof: String?
    var checksum: Checksum?
    /// The bottlenecks so far, each once, in order.
    var bottlenecks: [DownloadEvent.Bottleneck] = []
    /// Whether the download is running; `false` while it waits for a retry.
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

    mutating func apply(_ event: DownloadEvent) {
        switch event {
        case .responded(_, let totalBytes, let file):
            name = file.lastPathComponent
            plannedPath = file.plainPath
            progress.totalBytes = totalBytes
            bytesKept = nil
        case .resumed(_, let kept, _): bytesKept = kept
        case .limited(let bottleneck?):
            if !bottlenecks.contains(bottleneck) { bottlenecks.append(bottleneck) }
        case .verified(let checksum):
            self.checksum = checksum
            proof = "\(checksum.algorithm) verified"
        case .piecesVerified(let count): proof = "\(count) pieces verified"
        default: break
        }
    }
}

extension Download {
    var partialPath: String { partialFile.plainPath }
}

extension URL {
    /// The last component of the path; left percent-encoded if it is not UTF-8.
    var lastName: String {
        let last = lastPathComponent
        return last.isEmpty ? path(percentEncoded: true).split(separator: "/").last.map(String.init) ?? "" : last
    }
}
