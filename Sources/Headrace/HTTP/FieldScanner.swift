/// Takes the text of a header field apart from its front; each grammar adds its own steps.
struct FieldScanner {
    private var rest: Substring.UTF8View

    init(_ text: String) {
        rest = text[...].utf8
    }

    var isAtEnd: Bool { rest.isEmpty }
    var next: UInt8? { rest.first }

    /// Goes past a literal, if it is next.
    mutating func skip(_ literal: String) -> Bool {
        guard rest.starts(with: literal.utf8) else { return false }
        rest.removeFirst(literal.utf8.count)
        return true
    }

    mutating func take() -> UInt8? { rest.popFirst() }

    mutating func take(while isTaken: (UInt8) -> Bool) -> Substring {
        let taken = rest.prefix(while: isTaken)
        rest = rest[taken.endIndex...]
        return Substring(taken)
    }

    /// What the next bytes are, as many as there are of them.
    func peek(_ count: Int) -> Substring { Substring(rest.prefix(count)) }
}
