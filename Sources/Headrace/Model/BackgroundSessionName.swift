/// The name of a background `URLSession`, in which the system downloads files even while the app does not run.
struct BackgroundSessionName: Sendable, Hashable {
    /// The session identifier, unique in the app and the same at each launch.
    var identifier: String
    /// The app group in whose container an app extension stores its files; `nil` for an app.
    var sharedContainer: String?
}
