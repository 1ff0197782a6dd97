#if canImport(Darwin)
import Dispatch
import Foundation

extension DownloadConfiguration {
    /// A configuration whose downloads the system fetches, also while the app is suspended or not running.
    ///
    /// The manager is to be made at each start of the app, with the same identifier and the same
    /// ``registryDirectory``, which `configure` has to set. All downloads are given to the system at once, which decides
    /// when each of them runs. What a background session cannot do is in <doc:BackgroundDownloads>.
    /// - Parameters:
    ///   - identifier: The session's name, unique in the app.
    ///   - sharedContainerIdentifier: The app group whose container has the files of an extension; nil for an app.
    ///   - configure: Receives the defaults to change.
    /// - Returns: The configuration.
    public static func background(
        identifier: String,
        sharedContainerIdentifier: String? = nil,
        _ configure: (inout DownloadConfiguration) -> Void
    ) -> DownloadConfiguration {
        DownloadConfiguration {
            $0.backgroundSession = BackgroundSessionName(
                identifier: identifier,
                sharedContainer: sharedContainerIdentifier
            )
            $0.maxConcurrentDownloads = 1000
            configure(&$0)
        }
    }
}

extension DownloadManager {
    /// Takes the completion handler that the system gives the app with the events of a background session.
    ///
    /// It is called once, on the main thread, when all events are told and the files that came have their names. The
    /// manager of the identifier may be made before or after this.
    /// - Parameters:
    ///   - identifier: The identifier that the system names.
    ///   - completionHandler: The system's completion handler.
    @MainActor
    public static func handleEventsForBackgroundURLSession(
        identifier: String,
        completionHandler: @escaping () -> Void
    ) {
        let number = BackgroundCompletions.keep(completionHandler)
        BackgroundSession.woken(identifier) {
            DispatchQueue.main.async { BackgroundCompletions.call(number) }
        }
    }

    /// Returns when all events of a background session are told that the system has woken the app for, and the files that
    /// came have their names.
    ///
    /// The manager of the identifier may be made before or after this; cancelling the task changes nothing.
    /// - Parameter identifier: The identifier that the system names.
    public static func handleEventsForBackgroundURLSession(identifier: String) async {
        await withCheckedContinuation { continuation in
            BackgroundSession.woken(identifier) { continuation.resume() }
        }
    }
}

/// The system's completion handlers, which belong to the main thread.
@MainActor
private enum BackgroundCompletions {
    private static var handlers: [Int: () -> Void] = [:]
    private static var last = 0

    static func keep(_ handler: @escaping () -> Void) -> Int {
        last += 1
        handlers[last] = handler
        return last
    }

    static func call(_ number: Int) {
        handlers.removeValue(forKey: number)?()
    }
}
#endif
