import HeadracePlatform

/// What an answer told of one version of a resource (RFC 9110, section 8); part of the control record.
struct RepresentationMetadata: Sendable, Hashable, Codable {
    /// `ETag` as it was sent, even where it cannot be used.
    var entityTag: String?
    /// `Last-Modified` as it was sent.
    var lastModified: String?
    /// What tells the place that answered, behind all redirects, from another one, where ``lastModified`` is all there is: the
    /// date proves nothing of a file in another place.
    var place: String?
    /// `Date` of the answer that told the rest, which decides how much ``lastModified`` proves.
    var date: String?
    /// The size in bytes as they are on the wire.
    var totalBytes: Int64?
    /// `Content-Type` as it was sent.
    var contentType: String?
    /// `Content-Encoding` in lower case, nil where the bytes are the file's own.
    var contentCoding: String?
    /// True where the server said `Accept-Ranges: none`.
    var refusesRanges = false
    /// What the file has to hash to by the server's word, as ``Checksum/description`` has it.
    var checksum: String?
    /// True where only a checksum of the whole can tell whether the held bytes are of one version, nil elsewhere.
    var isUnverified: Bool?
    /// True where it came from another source than the one that each run asks first; nil otherwise.
    var isFromMirror: Bool?
    /// What tells those who asked from others, as ``DownloadRequest/asker(_:)`` has it; nil where that is not known.
    var asker: String?
}

extension RepresentationMetadata {
    /// Reads the fields of an answer; where the size is found depends on its status.
    init(of head: borrowing ResponseHead, totalBytes: Int64?) {
        let codings = head.contentCodings
        // A proxy has made something else of the file (section 15.3.4), of which the server's validators say nothing.
        let isTransformed = head.status == 203
        let entityTag = isTransformed ? nil : Self.field("etag", of: head)
        self.init(
            entityTag: entityTag,
            lastModified: isTransformed ? nil : Self.field("last-modified", of: head),
            place: entityTag == nil ? Self.place(of: head.url) : nil,
            date: Self.field("date", of: head),
            totalBytes: totalBytes,
            contentType: Self.field("content-type", of: head),
            contentCoding: codings.isEmpty ? nil : codings.joined(separator: ", "),
            refusesRanges: head.acceptsRanges == false
        )
    }

    /// What tells a place from another one: hexadecimal digits, which show nothing of a URL that may be signed.
    static func place(of url: URL) -> String { Fingerprint(placeOf: url).short }

    /// The value of a field; several that differ are joined, which no parser of one value takes.
    private static func field(_ name: String, of head: ResponseHead) -> String? {
        let values = head.values(name)
        return values.allSatisfy { $0 == values.first } ? values.first : values.joined(separator: ", ")
    }

    /// Whether the entity tag is made of the size and of a time that is not known, as with nginx and Apache, so that all versions
    /// of that size have it.
    var hasSizeOnlyTag: Bool {
        guard let entityTag, let totalBytes else { return false }
        let isEpoch = entityTag.withBytes { bytes in
            let numbers = bytes.dropFirst().dropLast()
            guard let hyphen = numbers.firstIndex(of: UInt8(ascii: "-")),
                let first = Int64(hexadecimalNumber: numbers[..<hyphen]),
                let last = Int64(hexadecimalNumber: numbers[(hyphen + 1)...])
            else { return false }
            // Seconds and the size, or the size and microseconds.
            let day: Int64 = 86_400
            return last == totalBytes && first < day || first == totalBytes && last / 1_000_000 < day
        }
        return isEpoch && lastModified.flatMap(HTTPDate.init(parsing:))?.isKnownTime == false
    }

    /// The type without its parameters, in lower case.
    var mediaType: String? {
        contentType?.split(separator: ";", omittingEmptySubsequences: false).first?.trimmed.lowercased()
    }

    /// True for a web page, which is what a login or an error is mostly told in.
    var isPage: Bool { mediaType == "text/html" || mediaType == "application/xhtml+xml" }
}

extension ResponseHead {
    /// The codings of the body in lower case; `none` is what some programs call that there are none.
    var contentCodings: [String] { members("content-encoding").filter { $0 != "identity" && $0 != "none" } }

    /// Whether the rest of the body can be requested, by the server's word, if this response is cut.
    var isResumable: Bool {
        guard status == 206 || acceptsRanges == true else { return false }
        return EntityValidator(of: RepresentationMetadata(of: self, totalBytes: nil)) != nil
    }

    /// What `Accept-Ranges` says of bytes (RFC 9110, section 14.3), nil where it says nothing; advice, never proof.
    var acceptsRanges: Bool? {
        let units = members("accept-ranges")
        if units.contains("bytes") { return true }
        return units.contains("none") ? false : nil
    }
}
