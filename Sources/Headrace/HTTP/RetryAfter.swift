/// The delay that a server requests with `Retry-After` (RFC 9110, section 10.2.3).
struct RetryAfter: Sendable, Hashable {
    /// The maximum delay, even if a server requests a longer one; curl has the same limit.
    static let maximum = Duration.seconds(6 * 3600)

    /// The maximum delay before a redirect is followed; short, since the waiting download occupies a slot.
    static let redirectMaximum = Duration.seconds(10)

    /// The delay, from zero to ``maximum``.
    let delay: Duration

    /// Parses seconds, or a date relative to `now`; returns `nil` for any other text, and for a date if `now` is `nil`.
    init?(parsing text: String, now: HTTPDate?) {
        if text.isDigits {
            // A number that overflows is a long delay, not a malformed one.
            self.init(seconds: Int64(digits: text) ?? .max)
        } else if let date = HTTPDate(parsing: text), let now {
            let (seconds, overflow) = date.seconds.subtractingReportingOverflow(now.seconds)
            self.init(seconds: overflow ? (date > now ? .max : 0) : seconds)
        } else {
            return nil
        }
    }

    /// Reads the longest `Retry-After` delay in a response with any status; returns `nil` if there is none.
    ///
    /// A date is relative to the response's `Date` field, so that a wrong local clock does not change the delay.
    /// Without `Date`, it is relative to the time of receipt (RFC 9110, section 6.6.1).
    init?(of head: ResponseHead) {
        let now = head.values("date").first.flatMap(HTTPDate.init(parsing:)) ?? head.receivedAt
        let delays = head.values("retry-after").compactMap { RetryAfter(parsing: $0, now: now)?.delay }
        guard let delay = delays.max() else { return nil }
        self.delay = delay
    }

    private init(seconds: Int64) {
        delay = min(max(.zero, .seconds(seconds)), Self.maximum)
    }
}
