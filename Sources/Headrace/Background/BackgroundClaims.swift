/// Tracks which background sessions have a manager, and stores the wake-up completions for sessions that have none yet.
struct BackgroundClaims: Sendable {
    typealias Completion = @Sendable () -> Void

    private var claimed: Set<String> = []
    private var wakes: [String: [Completion]] = [:]

    mutating func claim(_ identifier: String) throws(DownloadError) {
        guard claimed.insert(identifier).inserted else {
            throw DownloadError(
                .busy,
                "Another download manager of this process uses the background session \"\(identifier)\". Use that manager, "
                    + "shut it down first, or choose another identifier."
            )
        }
    }

    mutating func release(_ identifier: String) {
        claimed.remove(identifier)
    }

    /// Stores the system's completion handler of a wake-up until the session has a manager.
    mutating func woken(_ identifier: String, _ completion: @escaping Completion) {
        wakes[identifier, default: []].append(completion)
    }

    /// Removes and returns the stored wake-up completions of a session, for its new manager.
    mutating func takeWakes(of identifier: String) -> [Completion] {
        wakes.removeValue(forKey: identifier) ?? []
    }
}
