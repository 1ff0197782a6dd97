import Headrace
import HeadracePlatform

@testable import HeadraceCLI

extension DownloadSnapshot {
    /// A download of a list.
    static func sample(
        _ id: UInt64,
        _ state: DownloadState = .waiting,
        name: String = "a.bin",
        priority: DownloadPriority = .normal,
        _ progress: DownloadProgress = DownloadProgress(),
        change: (inout DownloadRequest) -> Void = { _ in }
    ) -> DownloadSnapshot {
        var request = DownloadRequest(makeURL("http://u:secret@h/x"), to: .file(URL(filePath: "/d/\(name)")))
        change(&request)
        return DownloadSnapshot(
            id: Download.ID(rawValue: id),
            request: request,
            state: state,
            priority: priority,
            progress: progress
        )
    }
}
