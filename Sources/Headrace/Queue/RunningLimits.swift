/// The limits on the number of running downloads: the user's, and lower ones that are chosen automatically.
struct RunningLimits: Sendable {
    /// The minimum number of downloads waiting for a slot at which the files of a host are assumed to be small.
    private static let manyWaiting = 6

    /// The maximum number of running downloads that the user has set.
    var maximum: Int
    /// Chooses the limits, up to those that the user has set; `nil` if they are fixed.
    var concurrency: DownloadConcurrency?
    /// The maximum number of running downloads per host that the user has set; `nil` for none.
    var perHost: Int?

    /// The maximum number of running downloads: ``maximum``, or fewer if the limit is chosen automatically.
    var total: Int { min(maximum, concurrency?.limit ?? .max) }

    /// Returns the maximum number of running downloads of a host.
    func limit(of host: @autoclosure () -> String) -> Int {
        min(perHost ?? .max, concurrency.map { $0.limit(of: host()) } ?? .max)
    }

    /// Returns the time from which ``DownloadConcurrency/probe(_:at:)`` raises the limit of one of the hosts; `nil` if
    /// none was lowered.
    func nextProbe(of hosts: @autoclosure () -> [String]) -> Duration? {
        concurrency.flatMap { concurrency in hosts().compactMap(concurrency.nextProbe).min() }
    }

    /// Whether a download that starts may share a connection to its host with others.
    ///
    /// It may if the host uses HTTP/2. While the host's protocol is unknown, it may if many downloads are waiting,
    /// because their files are probably small; `waiting` is their number. Always `false` if the limits are fixed.
    func mayShareConnection(to host: String, with waiting: Int) -> Bool {
        guard let concurrency else { return false }
        return concurrency.usesHTTP2(host) ?? (waiting >= Self.manyWaiting)
    }
}

extension RunningLimits {
    /// Creates the limits of a configuration; if it starts no downloads, the maximum is 0.
    init(_ configuration: DownloadConfiguration) {
        self.init(
            maximum: configuration.startsDownloads ? configuration.maxConcurrentDownloads.maximum : 0,
            concurrency: DownloadConcurrency(configuration.maxConcurrentDownloads, configuration),
            perHost: configuration.maxConcurrentDownloadsPerHost
        )
    }
}
