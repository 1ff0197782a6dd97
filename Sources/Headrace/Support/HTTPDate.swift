/// A time in whole seconds, as sent in one of the three date formats of HTTP (RFC 9110, section 5.6.7).
struct HTTPDate: Sendable, Hashable, Comparable {
    /// Seconds since 1970.
    let seconds: Int64

    init(seconds: Int64) {
        self.seconds = seconds
    }

    /// Parses IMF-fixdate, RFC 850 and asctime dates; returns `nil` for other text and for dates that do not exist.
    ///
    /// The day name must be valid, but need not match the date.
    init?(parsing text: String) {
        guard let date = Self.preferred(text) ?? Self.rfc850(text) ?? Self.asctime(text) else { return nil }
        self = date
    }

    /// Creates a time; returns `nil` if the date does not exist.
    ///
    /// `month` counts from 0, `time` is in seconds since midnight.
    init?(year: Int, month: Int, day: Int, time: Int) {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        guard year >= 1, (1...lengths[month]).contains(day) else { return nil }
        let past = year - 1
        let leapDays = past / 4 - past / 100 + past / 400
        let days = past * 365 + leapDays + lengths[..<month].reduce(0, +) + day - 1
        let daysBefore1970 = 719_162
        seconds = Int64((days - daysBefore1970) * 86_400 + time)
    }

    /// Whether the time can be the real modification time of a file; `false` before 2 January 1970.
    ///
    /// Servers send such an early time if they do not know the real one, so different versions of a file may share it.
    var isKnownTime: Bool { seconds >= 86_400 }

    static func < (lhs: HTTPDate, rhs: HTTPDate) -> Bool { lhs.seconds < rhs.seconds }
}

extension HTTPDate {
    /// Parses IMF-fixdate: `Sun, 06 Nov 1994 08:49:37 GMT`.
    private static func preferred(_ text: String) -> HTTPDate? {
        var text = FieldScanner(text)
        guard text.name(in: FieldScanner.shortDays) != nil, text.skip(", "), let day = text.number(2), text.skip(" "),
            let month = text.name(in: FieldScanner.months), text.skip(" "), let year = text.number(4), text.skip(" "),
            let time = text.time(), text.skip(" GMT"), text.isAtEnd
        else { return nil }
        return HTTPDate(year: year, month: month, day: day, time: time)
    }

    /// Parses the RFC 850 form: `Sunday, 06-Nov-94 08:49:37 GMT`.
    ///
    /// The century is chosen as in POSIX (69 is 1969), since the rule of the RFC would require the current time.
    private static func rfc850(_ text: String) -> HTTPDate? {
        var text = FieldScanner(text)
        guard text.name(in: FieldScanner.longDays) != nil, text.skip(", "), let day = text.number(2), text.skip("-"),
            let month = text.name(in: FieldScanner.months), text.skip("-"), let year = text.number(2), text.skip(" "),
            let time = text.time(), text.skip(" GMT"), text.isAtEnd
        else { return nil }
        return HTTPDate(year: year + (year < 69 ? 2000 : 1900), month: month, day: day, time: time)
    }

    /// Parses the asctime form: `Sun Nov  6 08:49:37 1994`.
    private static func asctime(_ text: String) -> HTTPDate? {
        var text = FieldScanner(text)
        guard text.name(in: FieldScanner.shortDays) != nil, text.skip(" "),
            let month = text.name(in: FieldScanner.months),
            text.skip(" "), let day = text.skip(" ") ? text.number(1) : text.number(2), text.skip(" "),
            let time = text.time(), text.skip(" "), let year = text.number(4), text.isAtEnd
        else { return nil }
        return HTTPDate(year: year, month: month, day: day, time: time)
    }
}

extension FieldScanner {
    fileprivate static let shortDays: [StaticString] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    fileprivate static let longDays: [StaticString] = [
        "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
    ]
    fileprivate static let months: [StaticString] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    fileprivate mutating func name(in names: [StaticString]) -> Int? {
        names.firstIndex { skip($0) }
    }

    /// Reads a time of day as seconds since midnight; a leap second counts as the second after it.
    ///
    /// Returns `nil` if the time does not exist.
    mutating func time() -> Int? {
        guard let hour = number(2), skip(":"), let minute = number(2), skip(":"), let second = number(2), hour < 24,
            minute < 60, second <= 60
        else { return nil }
        return (hour * 60 + minute) * 60 + second
    }
}
