package import HeadracePlatform

/// A scheme, host and port, which decide whether credentials may be sent (RFC 6454, section 4).
package struct Origin: Sendable, Hashable {
    private let scheme: String?
    private let host: String?
    private let port: Int

    /// Creates the origin of a URL.
    package init(_ url: URL) {
        scheme = url.scheme?.lowercased()
        host = url.host()?.lowercased()
        port = url.effectivePort
    }
}
