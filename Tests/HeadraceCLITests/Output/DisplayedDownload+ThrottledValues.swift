import Headrace
import HeadracePlatform

@testable import HeadraceCLI

/// Creates a URL from a valid string.
func makeURL(_ text: String) -> URL {
    guard let url = URL(string: text) else { preconditionFailure("Not a URL: \(text)") }
    return url
}

extension Download.ID {
    static let sample = Download.ID(rawValue: 0xFF)
}

extension Set<Download.ID> {
    /// The identities of `count` downloads.
    static func sample(_ count: Int) -> Set<Download.ID> { Set((0..<count).map { Download.ID(rawValue: UInt64($0)) }) }
}

extension RunTotals {
    init(open count: Int) {
        self.init()
        open = .sample(count)
    }
}

extension DisplayedDownload {
    /// A download without a response.
    static func connecting(_ name: String = "a.bin") -> DisplayedDownload {
        let file = URL(filePath: "/d/\(name)")
        return DisplayedDownload(id: "00ff", request: DownloadRequest(makeURL("http://u:secret@h/x"), to: .file(file)))
    }

    /// A running download.
    static func running(_ progress: DownloadProgress, named name: String = "a.bin") -> DisplayedDownload {
        var item = connecting(name)
        item.plannedPath = "/d/\(name)"
        item.progress = progress
        return item
    }
}

extension DownloadProgress {
    /// Half of 100 MiB at 10 MiB a second.
    static let half = DownloadProgress(
        bytesReceived: 50 << 20,
        totalBytes: 100 << 20,
        bytesPerSecond: 10 * 1_048_576,
        timeRemaining: .seconds(5)
    )
}
