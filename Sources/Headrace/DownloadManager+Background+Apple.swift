#if canImport(Darwin)
import Dispatch
import Foundation

extension DownloadConfiguration {
    /// A configuration whose downloads are performed by the system, even while the app is suspended or not running.
    ///
    ///     let configuration = DownloadConfiguration.background(identifier: "com.example.app.downloads") {
    ///         $0.registryDirectory = registry
    ///     }
    ///
    /// Create the manager at each launch of the app, with the same identifier and ``registryDirectory``, which
    /// `configure` must set. By default, up to 1000 downloads are handed to the system at once; it decides when each
    /// one runs. See <doc:BackgroundDownloads> for the limits of background sessions.
    /// - Parameters:
    ///   - identifier: The name of the session, unique in the app.
    ///   - sharedContainerIdentifier: The app group whose container stores the files of an extension; `nil` for an app.
    ///   - configure: A closure that changes the default settings.
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
    /// Stores the completion handler that the system passes to the app with the events of a background session.
    ///
    /// The handler is called once, on the main thread, when all events have been processed and the files are at their
    /// final paths. The manager for this identifier may be created before or after this call.
    /// - Parameters:
    ///   - identifier: The identifier of the session.
    ///   - completionHandler: The system's completion handler.
    @MainActor
    public static func handleEventsForBackgroundURLSession(
        identifier: String,
        completionHandler: @escaping () -> Void
    ) {
        let number = BackgroundCompletions.store(completionHandler)
        BackgroundSession.woken(identifier) {
            DispatchQueue.main.async { BackgroundCompletions.call(number) }
        }
    }

    /// Waits until all events of a background session have been processed and its files are at their final paths.
    ///
    /// Call it when the system launches the app for that session. The manager for this identifier may be created before
    /// or after this call. Cancelling the task has no effect.
    /// - Parameter identifier: The identifier of the session.
    public static func handleEventsForBackgroundURLSession(identifier: String) async {
        await withCheckedContinuation { continuation in
            BackgroundSession.woken(identifier) { continuation.resume() }
        }
    }
}

/// The system's completion handlers, which must stay on the main actor because they are not sendable.
@MainActor
private enum BackgroundCompletions {
    private static var handlers: [Int: () -> Void] = [:]
    private static var last = 0

    static func store(_ handler: @escaping () -> Void) -> Int {
        last += 1
        handlers[last] = handler
        return last
    }

    static func call(_ number: Int) {
        handlers.removeValue(forKey: number)?()
    }
}
#endif
