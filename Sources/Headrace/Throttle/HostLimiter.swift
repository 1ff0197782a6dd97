import HeadracePlatform

/// The connections that a download from a host has settled on.
struct HostExperience: Sendable, Hashable {
    var connections: Int
    /// The speed of all connections together, in bytes per second.
    var rate: Double
}

/// Limits the connections and retries per host, over all downloads of a manager.
final class HostLimiter: Sendable {
    private let limits: Locked<HostConnectionLimits>
    private let retries: Locked<HostRetryLimits>
    /// The servers that have responded at least once.
    private let responsive = Locked<Set<String>>([])
    /// The experience of the latest download from each server.
    private let experiences = Locked<[String: HostExperience]>([:])
    /// The maximum number of servers whose experience is stored.
    private static let maxExperiences = 64

    init(maximum: Int, retriesPerMinute: Int?) {
        limits = Locked(HostConnectionLimits(maximum: maximum))
        retries = Locked(HostRetryLimits(perMinute: retriesPerMinute))
    }

    /// Records that the server of a URL has responded.
    func responded(_ url: URL) {
        responsive.withLock { _ = $0.insert(url.server) }
    }

    /// Whether the server of a URL has responded to any download.
    func hasResponded(_ url: URL) -> Bool {
        responsive.withLock { $0.contains(url.server) }
    }

    /// Records the connections that a download from the server of a URL has settled on.
    func record(_ experience: HostExperience, of url: URL) {
        experiences.withLock { experiences in
            if experiences.count >= Self.maxExperiences, experiences[url.server] == nil { experiences.removeAll() }
            experiences[url.server] = experience
        }
    }

    /// Returns the connections that the latest download from the server of a URL has settled on; `nil` if there is none.
    func experience(_ url: URL) -> HostExperience? {
        experiences.withLock { $0[url.server] }
    }

    /// Reserves a time for a retry to the URL's host, and returns that time, from which the retry may begin.
    func beginRetry(_ url: URL, at now: Duration) -> Duration {
        retries.withLock { $0.begin(of: Self.host(of: url), at: now) }
    }

    /// Returns the time until which the host of a URL has requested a delay; `nil` if it has requested none.
    func notBefore(_ url: URL) -> Duration? {
        limits.withLock { $0.isUntroubled ? nil : $0.notBefore(Self.host(of: url)) }
    }

    /// Reserves up to `wanted` connections to the host of a URL for a download; returns how many the download may have.
    ///
    /// The connections stay reserved until the next call for this download.
    func share(of id: DownloadID, _ url: URL, wanting wanted: Int, at now: Duration) -> Int {
        limits.withLock { $0.share(of: id, on: Self.host(of: url), wanting: wanted, at: now) }
    }

    /// Lowers a host's limit after a refused connection, a 429 or a 503; returns whether other downloads use the host.
    @discardableResult
    func refused(_ id: DownloadID, _ url: URL, retryAfter: Duration?, at now: Duration) -> Bool {
        limits.withLock { $0.refused(id, on: Self.host(of: url), retryAfter: retryAfter, at: now) }
    }

    func release(_ id: DownloadID, _ url: URL, at now: Duration) {
        limits.withLock { $0.release(id, Self.host(of: url), at: now) }
    }

    static func host(of url: URL) -> String { url.host()?.lowercased() ?? "" }
}
