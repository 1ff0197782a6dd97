/// A task of the system: the download that it is for, and its number in the session.
struct BackgroundTask: Sendable, Hashable {
    /// The download.
    let download: DownloadID
    /// The task's number in its session.
    let number: Int

    /// Creates a task from what the system has of it; nil for one that is no download's.
    init?(_ number: Int, description: String?) {
        guard let download = description.flatMap({ DownloadID($0) }) else { return nil }
        self.init(download, number)
    }

    init(_ download: DownloadID, _ number: Int) {
        self.download = download
        self.number = number
    }
}

/// Whom to call when all events of a wake are told; a number for a closure that the machine need not know.
struct BackgroundHandler: Sendable, Hashable {
    let number: Int
}

extension DownloadError {
    static let sessionInvalid = DownloadError(
        .connection,
        "The system has ended the background session. Make another manager, or start the app again."
    )
}
