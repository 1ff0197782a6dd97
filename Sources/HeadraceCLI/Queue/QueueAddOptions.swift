import Headrace
import HeadracePlatform

/// The options of `queue add` with their meaning.
struct QueueAddOptions: Sendable {
    var places: GetOptions
    private let title: String?
    private let group: String?
    private let priority: DownloadPriority
    private let begin: Date?
    private let isPaused: Bool

    /// Spans such as `+30m` count from `now`.
    init(_ arguments: ParsedArguments, now: Date) throws(UsageError) {
        places = try GetOptions(arguments)
        title = arguments.value(.title)
        group = arguments.value(.group)
        priority = try arguments.value(.priority).map { text throws(UsageError) in try Self.priority(text) } ?? .normal
        begin = try arguments.value(.begin).map { text throws(UsageError) in try BeginTime.date(text, now: now) }
        isPaused = arguments.has(.paused)
        for field in places.headers where field.isCredential {
            throw UsageError("--header: \(field.name) is a secret, and the list keeps none; headrace get takes it")
        }
        if places.integrity.list?.contains("://") != true,
            let option = Option.allCases.first(where: { Option.networkOptions.contains($0) && arguments.has($0) })
        {
            throw UsageError(option, "without the URL of a --checksum-file nothing is fetched; queue run takes it")
        }
    }

    private static func priority(_ text: String) throws(UsageError) -> DownloadPriority {
        switch text {
        case "low": return .low
        case "normal": return .normal
        case "high": return .high
        default:
            guard let number = Int(text) else {
                throw UsageError("--priority: \"\(text)\" is none of low, normal and high, and no whole number")
            }
            return DownloadPriority(rawValue: number)
        }
    }

    /// The requests for the URLs given, the URLs listed and the files of documents, in this order.
    func requests(
        listed: [URLList.Entry] = [],
        files: [Metalink.File] = [],
        checksums: ChecksumList? = nil
    ) throws(UsageError) -> [DownloadRequest] {
        try places.requests(listed: listed, files: files, checksums: checksums).map { request throws(UsageError) in
            for url in [request.url] + request.mirrors where url.withoutCredentials != url {
                throw UsageError(
                    "\(url.withoutCredentials.absoluteString): the URL has a user or a password in it, and the list "
                        + "keeps no secrets; headrace get takes it"
                )
            }
            var request = request
            request.title = title
            request.group = group
            request.priority = priority
            request.earliestBegin = begin
            request.startsPaused = isPaused
            return request
        }
    }
}
