package import HeadracePlatform

/// A scheme, a host and a port: where credentials may go (RFC 6454, section 4).
package struct Origin: Sendable, Hashable {
    private let scheme: String?
    private let host: String?
    private let port: Int

    /// The origin of a URL.
    package init(_ url: URL) {
        scheme = url.scheme?.lowercased()
        host = url.host()?.lowercased()
        port = url.effectivePort
    }
}
