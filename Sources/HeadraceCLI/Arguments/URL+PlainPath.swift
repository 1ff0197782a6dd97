import HeadracePlatform

extension URL {
    /// The path without percent-encoding, for system calls and messages.
    var plainPath: String { path(percentEncoded: false) }
}
