/// A task of the system, identified by its download and its number in the session.
struct BackgroundTask: Sendable, Hashable {
    /// The download that the task fetches.
    let download: DownloadID
    /// The task's number in its session.
    let number: Int

    /// Creates a task from its number and its stored description; returns `nil` if the description names no download.
    init?(_ number: Int, description: String?) {
        guard let download = description.flatMap({ DownloadID($0) }) else { return nil }
        self.init(download, number)
    }

    init(_ download: DownloadID, _ number: Int) {
        self.download = download
        self.number = number
    }
}

/// The number of a completion handler that the system passed when it woke the app.
///
/// The state machine uses the number, because closures cannot be compared.
struct BackgroundHandler: Sendable, Hashable {
    let number: Int
}

extension DownloadError {
    static let sessionInvalid = DownloadError(
        .connection,
        "The system has invalidated the background session. Create another manager, or restart the app."
    )
}
