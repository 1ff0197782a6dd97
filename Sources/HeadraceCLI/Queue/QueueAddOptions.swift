import Headrace
import HeadracePlatform

/// The options of `queue add`, converted and checked.
struct QueueAddOptions: Sendable {
    var downloads: GetOptions
    private let apply: @Sendable (inout DownloadRequest) -> Void

    /// Converts and checks the options; delays such as `+30m` are relative to `now`.
    init(_ arguments: ParsedArguments, now: Date) throws {
        downloads = try GetOptions(arguments)
        let priority = try arguments.value(.priority).map { try Self.priority($0) } ?? .normal
        let begin = try arguments.value(.begin).map { text in
            let problem = "\"\(text)\" is not a time; use a date such as 2026-05-01T22:00, or a delay such as +1h30m "
            guard let date = BeginTime.date(text, now: now) else {
                throw UsageError(.begin, problem + "(units: d, h, m, s)")
            }
            return date
        }
        apply = { request in
            (request.title, request.group) = (arguments.value(.title), arguments.value(.group))
            (request.priority, request.earliestBegin) = (priority, begin)
            request.startsPaused = arguments.has(.paused)
        }
        guard !downloads.copiesToOutput else {
            throw UsageError("--output: queue add cannot write to standard output; use headrace get")
        }
        try Self.check(downloads.headers, "--header: ")
        let networkOptions = arguments.given.intersection(Option.networkOptions)
        if !downloads.downloadsChecksumFile, let option = Option.allCases.first(where: networkOptions.contains) {
            throw UsageError(
                option,
                "queue add uses it only to download a --checksum-file URL; pass it to queue run instead"
            )
        }
    }

    private static func check(_ fields: [HeaderField], _ origin: String) throws {
        for field in fields where field.isCredential {
            throw UsageError(
                "\(origin)\(field.name) is a secret, which the queue does not store; use headrace get instead"
            )
        }
    }

    private static func priority(_ text: String) throws -> DownloadPriority {
        if let known = DownloadPriority.words.first(where: { $0.word == text }) { return known.priority }
        guard let number = Int(text) else {
            throw UsageError("--priority: \"\(text)\" is not low, normal, high or a whole number")
        }
        return DownloadPriority(rawValue: number)
    }

    /// Returns the requests with the title, group, priority and start of the options.
    ///
    /// Throws if a request contains a secret, which the queue would not store.
    func queued(_ requests: [DownloadRequest]) throws -> [DownloadRequest] {
        try requests.map { request in
            for url in [request.url] + request.mirrors where url.withoutCredentials != url {
                throw UsageError(
                    "\(url.withoutCredentials.absoluteString): the URL contains a user name or password, which the "
                        + "queue does not store; use headrace get instead"
                )
            }
            try Self.check(request.headers, "\(request.url.absoluteString): ")
            var request = request
            apply(&request)
            return request
        }
    }
}

extension DownloadPriority {
    static let words: [(word: String, priority: DownloadPriority)] = [
        ("low", .low), ("normal", .normal), ("high", .high),
    ]
}
