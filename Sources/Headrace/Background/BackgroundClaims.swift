/// Which sessions of the process have a manager, and the wakes of those that have none yet.
struct BackgroundClaims: Sendable {
    typealias Completion = @Sendable () -> Void

    private var claimed: Set<String> = []
    private var wakes: [String: [Completion]] = [:]

    mutating func claim(_ identifier: String) throws(DownloadError) {
        guard claimed.insert(identifier).inserted else {
            throw DownloadError(
                .busy,
                "Another download manager of this process has the background session \"\(identifier)\". Use that one, shut it "
                    + "down first, or give this one another identifier."
            )
        }
    }

    mutating func release(_ identifier: String) {
        claimed.remove(identifier)
    }

    /// The app was woken for a session that nobody has yet.
    mutating func woken(_ identifier: String, _ completion: @escaping Completion) {
        wakes[identifier, default: []].append(completion)
    }

    /// The wakes of a session that somebody has now, each once.
    mutating func takeWakes(of identifier: String) -> [Completion] {
        wakes.removeValue(forKey: identifier) ?? []
    }
}
