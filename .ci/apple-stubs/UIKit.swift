// Stands in for UIKit on iOS, as far as the samples use it: declarations without behavior.

@_exported import Foundation

@MainActor open class UIApplication {}

@MainActor public protocol UIApplicationDelegate: AnyObject {
    func application(
        _ application: UIApplication,
        handleEventsForBackgroundURLSession identifier: String,
        completionHandler: @escaping () -> Void
    )
}
