import HeadracePlatform

extension URL {
    /// The path without percent-encoding, as the system takes it and a person reads it.
    var plainPath: String { path(percentEncoded: false) }
}
