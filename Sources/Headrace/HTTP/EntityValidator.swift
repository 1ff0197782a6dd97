/// What proves that bytes of two answers belong to one version of a resource (RFC 9110, sections 8.8 and 13.1.5).
enum EntityValidator: Sendable, Hashable {
    case strong(EntityTag)
    /// The date as it was sent, since servers compare it exactly.
    case lastModified(String)

    /// How much older than the answer a date must be, so that no second change can have hidden behind it.
    private static let dateMargin: Int64 = 60

    /// Nil where nothing proves anything: a weak or malformed tag rules the date out too (section 13.1.5).
    init?(of representation: RepresentationMetadata) {
        // What was encoded on its way may be encoded otherwise the next time.
        guard representation.contentCoding == nil else { return nil }
        if let text = representation.entityTag {
            guard let tag = EntityTag(parsing: text), !tag.isWeak, !representation.hasSizeOnlyTag else { return nil }
            self = .strong(tag)
        } else {
            guard let text = representation.lastModified, let changed = HTTPDate(parsing: text), changed.isKnownTime,
                let answered = representation.date.flatMap(HTTPDate.init(parsing:)),
                answered.seconds - changed.seconds >= Self.dateMargin
            else { return nil }
            self = .lastModified(text)
        }
    }

    /// The value of an `If-Range` field, byte for byte what the server sent.
    var headerValue: String {
        switch self {
        case .strong(let tag): tag.text
        case .lastModified(let date): date
        }
    }
}
