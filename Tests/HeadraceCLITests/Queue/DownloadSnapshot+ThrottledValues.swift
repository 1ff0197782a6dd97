import Headrace
import HeadracePlatform

@testable import HeadraceCLI

extension DownloadSnapshot {
    /// A sample download of a queue.
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

extension [DownloadSnapshot] {
    /// The downloads with the given numbers, or else numbered from 1.
    func numbered(_ numbers: Int...) -> [DownloadSnapshot] {
        indices.map { index in
            var download = self[index]
            download.number = numbers.isEmpty ? index + 1 : numbers[index]
            download.position = index
            return download
        }
    }
}
