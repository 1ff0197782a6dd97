import HeadracePlatform

/// The metadata that a response sent for one version of a resource (RFC 9110, section 8); part of the resume record.
struct RepresentationMetadata: Sendable, Hashable, Codable {
    /// `ETag` as received, even if it is unusable.
    var entityTag: String?
    /// `Last-Modified` as received.
    var lastModified: String?
    /// A fingerprint of the URL that responded after all redirects, if there is no entity tag: ``lastModified``
    /// identifies a version only at that URL.
    var locationFingerprint: String?
    /// The `Date` of the response that sent the other fields; decides whether ``lastModified`` is a strong validator.
    var date: String?
    /// The size in bytes as transferred.
    var totalBytes: Int64?
    /// `Content-Type` as received.
    var contentType: String?
    /// `Content-Encoding` in lower case; `nil` if the file is not encoded.
    var contentCoding: String?
    /// Whether the server sent `Accept-Ranges: none`.
    var refusesRanges = false
    /// The checksum of the file that the server sent, in the form of ``Checksum/description``.
    var checksum: String?
    /// `true` if only a checksum of the whole file can show that the received bytes are of one version; otherwise `nil`.
    var isUnverified: Bool?
    /// `true` if the metadata came from a source other than the one that each run tries first; otherwise `nil`.
    var isFromMirror: Bool?
    /// A fingerprint of the header fields and login of the request, from ``DownloadRequest/requesterFingerprint(_:)``; `nil` if unknown.
    var requesterFingerprint: String?

    private enum CodingKeys: String, CodingKey {
        case entityTag, lastModified, date, totalBytes, contentType, contentCoding, refusesRanges, checksum
        case isUnverified, isFromMirror
        // The names in resume records.
        case locationFingerprint = "place"
        case requesterFingerprint = "asker"
    }
}

extension RepresentationMetadata {
    /// Reads the fields of a response; the caller supplies the size, since its source depends on the status.
    init(of head: borrowing ResponseHead, totalBytes: Int64?) {
        let codings = head.contentCodings
        // A proxy modified the file (section 15.3.4), so the validators of the server do not apply to it.
        let isTransformed = head.status == 203
        let entityTag = isTransformed ? nil : Self.field("etag", of: head)
        self.init(
            entityTag: entityTag,
            lastModified: isTransformed ? nil : Self.field("last-modified", of: head),
            locationFingerprint: entityTag == nil ? Self.locationFingerprint(of: head.url) : nil,
            date: Self.field("date", of: head),
            totalBytes: totalBytes,
            contentType: Self.field("content-type", of: head),
            contentCoding: codings.isEmpty ? nil : codings.joined(separator: ", "),
            refusesRanges: head.acceptsRanges == false
        )
    }

    /// A fingerprint of a URL without its query, in hexadecimal digits, which reveal no part of the URL.
    static func locationFingerprint(of url: URL) -> String { Fingerprint(locationOf: url).short }

    /// Returns the value of a field.
    ///
    /// Several different values are joined, so that no parser accepts the result as a single value.
    private static func field(_ name: String, of head: ResponseHead) -> String? {
        let values = head.values(name)
        return values.allSatisfy { $0 == values.first } ? values.first : values.joined(separator: ", ")
    }

    /// Whether the entity tag identifies only the size of the file.
    ///
    /// nginx and Apache build tags from the size and the modification time. If that time is a placeholder near 1970, all
    /// versions of the same size share a tag.
    var hasSizeOnlyTag: Bool {
        guard let entityTag, let totalBytes else { return false }
        let isEpoch = entityTag.withBytes { bytes in
            // A server that compresses sends the same tag as a weak one.
            let quoted = bytes.starts(with: "W/".utf8) ? bytes.dropFirst(2) : bytes[...]
            let numbers = quoted.dropFirst().dropLast()
            guard let hyphen = numbers.firstIndex(of: UInt8(ascii: "-")),
                let first = Int64(hexadecimalNumber: numbers[..<hyphen]),
                let last = Int64(hexadecimalNumber: numbers[(hyphen + 1)...])
            else { return false }
            // Seconds and the size (nginx), or the size and microseconds (Apache).
            let day: Int64 = 86_400
            return last == totalBytes && first < day || first == totalBytes && last / 1_000_000 < day
        }
        return isEpoch && lastModified.flatMap(HTTPDate.init(parsing:))?.isKnownTime == false
    }

    /// The media type without parameters, in lower case.
    var mediaType: String? {
        contentType?.split(separator: ";", omittingEmptySubsequences: false).first?.trimmed.lowercased()
    }

    /// Whether the media type is that of a web page, such as a login page or an error message.
    var isPage: Bool { mediaType == "text/html" || mediaType == "application/xhtml+xml" }
}

extension ResponseHead {
    /// The codings of the body in lower case; some servers send `none` if there are none.
    var contentCodings: [String] { members("content-encoding").filter { $0 != "identity" && $0 != "none" } }

    /// Whether the server indicates that the rest of the body can be requested if the response is truncated.
    var isResumable: Bool {
        guard status == 206 || acceptsRanges == true else { return false }
        return EntityValidator(of: RepresentationMetadata(of: self, totalBytes: nil)) != nil
    }

    /// Whether `Accept-Ranges` allows byte ranges (RFC 9110, section 14.3); `nil` if the field is missing.
    ///
    /// Only a hint.
    var acceptsRanges: Bool? {
        let units = members("accept-ranges")
        if units.contains("bytes") { return true }
        return units.contains("none") ? false : nil
    }
}
