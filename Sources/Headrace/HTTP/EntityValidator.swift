/// A validator that shows that the bytes of two responses belong to one version (RFC 9110, sections 8.8 and 13.1.5).
enum EntityValidator: Sendable, Hashable {
    case strong(EntityTag)
    /// The `Last-Modified` date as received, since servers compare its text exactly.
    case lastModified(String)

    /// The minimum number of seconds by which `Last-Modified` must precede `Date` to be a strong validator.
    private static let dateMargin: Int64 = 60

    /// Creates the validator of a representation; returns `nil` if it has an unrequested coding or no strong validator.
    ///
    /// If the entity tag is weak or malformed, the date is not used either (section 13.1.5). With a requested coding,
    /// only an entity tag is used, because the same file can be encoded in different ways.
    init?(of representation: RepresentationMetadata) {
        // An encoded body may be encoded differently the next time.
        guard !representation.hasUnrequestedCoding else { return nil }
        if let text = representation.entityTag {
            guard let tag = EntityTag(parsing: text), !tag.isWeak, !representation.hasSizeOnlyTag else { return nil }
            self = .strong(tag)
        } else {
            guard representation.contentCoding == nil, let text = representation.lastModified,
                let changed = HTTPDate(parsing: text), changed.isKnownTime,
                let responded = representation.date.flatMap(HTTPDate.init(parsing:)),
                responded.seconds - changed.seconds >= Self.dateMargin
            else { return nil }
            self = .lastModified(text)
        }
    }

    /// The value of the `If-Range` field, exactly as received.
    var headerValue: String {
        switch self {
        case .strong(let tag): tag.text
        case .lastModified(let date): date
        }
    }
}
