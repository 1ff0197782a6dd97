// The documentation's samples for Apple platforms, verbatim; on other platforms they are only type-checked.

#if canImport(SwiftUI) && os(iOS)
import Headrace
import SwiftUI
import UIKit

private struct SampleApp: App {
    static func makeManager(in folder: URL) async throws -> DownloadManager {
        try await DownloadManager(
            configuration: .background(identifier: "org.example.downloads") {
                $0.registryDirectory = folder.appending(path: "downloads")
            }
        )
    }

    var body: some Scene {
        WindowGroup { Text("Downloads") }
            .backgroundTask(.urlSession("org.example.downloads")) {
                await DownloadManager.handleEventsForBackgroundURLSession(identifier: "org.example.downloads")
            }
    }
}

private final class SampleDelegate: NSObject, UIApplicationDelegate {
    func application(
        _ application: UIApplication,
        handleEventsForBackgroundURLSession identifier: String,
        completionHandler: @escaping () -> Void
    ) {
        DownloadManager.handleEventsForBackgroundURLSession(
            identifier: identifier,
            completionHandler: completionHandler
        )
    }
}
#endif
