/// What a file is asked for under where a version of it is there already (RFC 9110, section 13.1).
///
/// The file is kept or replaced as a whole, and never put together: so a weak tag will do.
enum VersionCondition: Sendable, Hashable {
    /// `If-None-Match` with the version's tag (section 13.1.2).
    case noneMatch(EntityTag)
    /// `If-Modified-Since` with the version's date as it was sent (section 13.1.3).
    case modifiedSince(String)

    /// Nil where another version could not be told from this one: behind a date that is not strong, a second change may hide.
    init?(of version: Representation) {
        if let text = version.entityTag {
            guard let tag = EntityTag(parsing: text) else { return nil }
            self = .noneMatch(tag)
        } else {
            guard case .lastModified(let date)? = EntityValidator(of: version) else { return nil }
            self = .modifiedSince(date)
        }
    }

    var field: HeaderField {
        switch self {
        case .noneMatch(let tag): HeaderField(name: "If-None-Match", value: tag.text)
        case .modifiedSince(let date): HeaderField(name: "If-Modified-Since", value: date)
        }
    }

    /// Whether a 304 tells of another version than the one that was asked about (section 15.4.5).
    ///
    /// A server that compares dates says "not modified" of an older version too.
    func isContradicted(by answer: Representation) -> Bool {
        switch self {
        case .noneMatch: answer.entityTag != nil && !isMet(by: answer)
        case .modifiedSince(let date): answer.lastModified ?? date != date
        }
    }

    /// Whether an answer with a body is about the version nonetheless: not every server knows conditions.
    func isMet(by answer: Representation) -> Bool {
        switch self {
        case .noneMatch(let tag):
            answer.entityTag.flatMap(EntityTag.init(parsing:))?.isWeaklyEqual(to: tag) ?? false
        case .modifiedSince(let date): answer.entityTag == nil && answer.lastModified == date
        }
    }
}
