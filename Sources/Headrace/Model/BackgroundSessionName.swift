/// The name of a background session of the system.
struct BackgroundSessionName: Sendable, Hashable {
    /// The identifier, unique in the app and the same at each launch.
    var identifier: String
    /// The app group whose container an extension stores its files in.
    var sharedContainer: String?
}
