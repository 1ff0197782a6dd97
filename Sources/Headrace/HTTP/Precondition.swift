/// What a file is asked for under where a version of it is there already (RFC 9110, section 13.1).
///
/// The file is kept or replaced as a whole, and never put together: so a weak tag will do.
enum Precondition: Sendable, Hashable {
    /// `If-None-Match` with the version's tag (section 13.1.2).
    case noneMatch(EntityTag)
    /// `If-Modified-Since` with the version's date as it was sent (section 13.1.3), and what tells the place that sent it from
    /// another one.
    case modifiedSince(String, place: String)

    /// Nil where another version could not be told from this one: behind a date that is not strong, a second change may hide.
    init?(of version: RepresentationMetadata) {
        if let text = version.entityTag {
            guard let tag = EntityTag(parsing: text), !version.hasSizeOnlyTag else { return nil }
            self = .noneMatch(tag)
        } else {
            guard case .lastModified(let date)? = EntityValidator(of: version), let place = version.place
            else { return nil }
            self = .modifiedSince(date, place: place)
        }
    }

    /// Reads what ``text`` gave.
    init?(parsing text: String) {
        if let tag = EntityTag(parsing: text) {
            self = .noneMatch(tag)
        } else {
            let length = Fingerprint.shortLength
            let (place, date) = (String(text.prefix(length)), String(text.dropFirst(length)))
            guard UInt32(hexadecimal: place.utf8) != nil, HTTPDate(parsing: date)?.isKnownTime == true
            else { return nil }
            self = .modifiedSince(date, place: place)
        }
    }

    /// The validator, a date behind the place that sent it.
    var text: String {
        switch self {
        case .noneMatch(let tag): tag.text
        case .modifiedSince(let date, let place): place + date
        }
    }

    /// Whether all that tells the version is a date, which other files may have as well.
    var isDate: Bool {
        if case .modifiedSince = self { true } else { false }
    }

    var field: HeaderField {
        switch self {
        case .noneMatch(let tag): HeaderField(name: "If-None-Match", value: tag.text)
        case .modifiedSince(let date, _): HeaderField(name: "If-Modified-Since", value: date)
        }
    }

    /// Whether a 304 tells of another version than the one that was asked about (section 15.4.5).
    ///
    /// A server that compares dates says "not modified" of an older version too, and of another file.
    func isContradicted(by response: RepresentationMetadata) -> Bool {
        switch self {
        case .noneMatch: response.entityTag != nil && !isMet(by: response)
        case .modifiedSince(let date, let place): response.lastModified ?? date != date || response.place != place
        }
    }

    /// Whether an answer with a body is about the version nonetheless: not every server knows conditions.
    func isMet(by response: RepresentationMetadata) -> Bool {
        switch self {
        case .noneMatch(let tag):
            response.entityTag.flatMap(EntityTag.init(parsing:))?.isWeaklyEqual(to: tag) ?? false
        case .modifiedSince(let date, let place):
            response.entityTag == nil && response.lastModified == date && response.place == place
        }
    }
}
