#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The URLs that one request leads to, and what may be sent to each.
struct RedirectChain: Sendable {
    let policy: RedirectPolicy
    private(set) var url: URL
    private(set) var count = 0
    private var fields: [HeaderField]

    init(_ request: DownloadRequest, _ configuration: DownloadManager.Configuration) {
        policy = RedirectPolicy(
            maxRedirects: configuration.maxRedirects,
            allowsInsecure: configuration.allowsInsecureRedirects
        )
        url = request.url
        fields = request.headers
    }

    /// Credentials that were dropped on the way do not come back, not even at their own origin.
    mutating func follow(_ target: URL) {
        if Origin(target) != Origin(url) { fields.removeAll(where: \.isBoundToOrigin) }
        url = target
        count += 1
    }

    func request(with rangeFields: [HeaderField], _ configuration: DownloadManager.Configuration) -> TransportRequest {
        TransportRequest(
            url: url,
            fields: fields + rangeFields,
            connectTimeout: configuration.connectTimeout,
            stallTimeout: configuration.stallTimeout
        )
    }
}
