// Stands in for SwiftUI on iOS, as far as the samples use it: declarations without behavior.

@_exported import Foundation

@MainActor public protocol View {}

@MainActor public protocol Scene {}

@MainActor public protocol App {
    associatedtype Body: Scene
    @MainActor var body: Body { get }
    @MainActor init()
}

public struct Text: View {
    public init(_ text: String) {}
}

public struct WindowGroup<Content: View>: Scene {
    public init(content: () -> Content) {}
}

public struct BackgroundTask<Request, Response>: Sendable {
    public static func urlSession(_ identifier: String) -> BackgroundTask<Void, Void> { BackgroundTask<Void, Void>() }
}

extension Scene {
    public func backgroundTask<D, R>(
        _ task: BackgroundTask<D, R>,
        action: @escaping @Sendable (D) async -> R
    ) -> some Scene { self }
}
