/// How long a server asks to wait before the next request (RFC 9110, section 10.2.3).
struct RetryAfter: Sendable, Hashable {
    /// A server that asks for more is asked again after this; curl has the same bound.
    static let maximum = Duration.seconds(6 * 3600)

    /// The longest wait before a redirect is followed, which nobody is told of and during which the place is held.
    static let redirectMaximum = Duration.seconds(10)

    /// The time to wait, from zero to ``maximum``.
    let delay: Duration

    /// Reads seconds, or a date seen from `now`; nil for anything else, and for a date where the time is not known.
    init?(parsing text: String, now: HTTPDate?) {
        if text.isDigits {
            // Digits that do not fit are many seconds, not junk.
            self.init(seconds: Int64(digits: text) ?? .max)
        } else if let date = HTTPDate(parsing: text), let now {
            let (seconds, overflow) = date.seconds.subtractingReportingOverflow(now.seconds)
            self.init(seconds: overflow ? (date > now ? .max : 0) : seconds)
        } else {
            return nil
        }
    }

    /// Reads the field of an answer of any status; the longest one where there are several.
    ///
    /// A date is compared with the response's own `Date`, so that no other clock has to be right. Without that field, which a
    /// 5xx response may omit (RFC 9110, section 6.6.1), the local clock decides.
    init?(of head: ResponseHead, localTime: HTTPDate = HTTPDate(seconds: WallTime.seconds())) {
        let now = head.values("date").first.flatMap(HTTPDate.init(parsing:)) ?? localTime
        let delays = head.values("retry-after").compactMap { RetryAfter(parsing: $0, now: now)?.delay }
        guard let delay = delays.max() else { return nil }
        self.delay = delay
    }

    private init(seconds: Int64) {
        delay = min(max(.zero, .seconds(seconds)), Self.maximum)
    }
}
