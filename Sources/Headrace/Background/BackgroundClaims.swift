/// Tracks which background sessions have a manager, and stores the system's wake-up handlers for sessions without one.
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

    /// Stores the completion handler of a wake-up for a session until the session's manager calls ``takeWakes(of:)``.
    mutating func woken(_ identifier: String, _ completion: @escaping Completion) {
        wakes[identifier, default: []].append(completion)
    }

    /// Removes and returns the completion handlers stored for a session, so that its new manager can call them.
    mutating func takeWakes(of identifier: String) -> [Completion] {
        wakes.removeValue(forKey: identifier) ?? []
    }
}
