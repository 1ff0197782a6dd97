/// A condition for downloading a file again: the server's version must differ from the version of the existing file
/// (RFC 9110, section 13.1).
///
/// The file is kept or replaced as a whole, so a weak tag suffices.
enum Precondition: Sendable, Hashable {
    /// `If-None-Match` with the tag of the existing version (section 13.1.2).
    case noneMatch(EntityTag)
    /// `If-Modified-Since` with the date as received (section 13.1.3), and a fingerprint of the URL that it belongs to.
    case modifiedSince(String, place: String)

    /// Creates the condition for a version from its tag or, if it has no tag, from its date.
    ///
    /// Returns `nil` if the tag is malformed or identifies only the size, or if the date is not strong. A date is
    /// strong if no later change of the file can have the same date.
    init?(of version: RepresentationMetadata) {
        if let text = version.entityTag {
            guard let tag = EntityTag(parsing: text), !version.hasSizeOnlyTag else { return nil }
            self = .noneMatch(tag)
        } else {
            guard case .lastModified(let date)? = EntityValidator(of: version), let place = version.locationFingerprint
            else { return nil }
            self = .modifiedSince(date, place: place)
        }
    }

    /// Parses a value of ``text``; returns `nil` if it is malformed.
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

    /// The condition as text: the tag, or the fingerprint of the URL followed by the date.
    var text: String {
        switch self {
        case .noneMatch(let tag): tag.text
        case .modifiedSince(let date, let place): place + date
        }
    }

    /// Whether the condition relies on a date, which other files may share.
    var isDate: Bool {
        if case .modifiedSince = self { true } else { false }
    }

    var field: HeaderField {
        switch self {
        case .noneMatch(let tag): HeaderField(name: "If-None-Match", value: tag.text)
        case .modifiedSince(let date, _): HeaderField(name: "If-Modified-Since", value: date)
        }
    }

    /// Whether a 304 response is for another version than the existing file's (section 15.4.5).
    ///
    /// Many servers send a 304 whenever their file is not newer than the date in the condition. The server's file may
    /// therefore be an older version or, after a redirect to another URL, another file.
    func isContradicted(by response: RepresentationMetadata) -> Bool {
        switch self {
        case .noneMatch: response.entityTag != nil && !matches(response)
        case .modifiedSince(let date, let place):
            response.lastModified ?? date != date || response.locationFingerprint != place
        }
    }

    /// Whether a response is of the existing file's version, so that the file is kept.
    ///
    /// If such a response has a body, the server has ignored the condition.
    func matches(_ response: RepresentationMetadata) -> Bool {
        switch self {
        case .noneMatch(let tag):
            response.entityTag.flatMap(EntityTag.init(parsing:))?.isWeaklyEqual(to: tag) ?? false
        case .modifiedSince(let date, let place):
            response.entityTag == nil && response.lastModified == date && response.locationFingerprint == place
        }
    }
}
