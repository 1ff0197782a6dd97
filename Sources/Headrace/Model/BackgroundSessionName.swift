/// What the system calls a background session.
struct BackgroundSessionName: Sendable, Hashable {
    /// Unique in the app, and the same in each run of it.
    var identifier: String
    /// The app group's container, in which an extension has its files.
    var sharedContainer: String?
}
