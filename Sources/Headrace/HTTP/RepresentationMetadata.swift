import HeadracePlatform

/// The metadata of one version of a file (RFC 9110, section 8), read from a response and saved in the resume record.
struct RepresentationMetadata: Sendable, Hashable, Codable {
    /// `ETag` as received, even if it is weak or malformed.
    var entityTag: String?
    /// `Last-Modified` as received.
    var lastModified: String?
    /// A fingerprint of the final URL after redirects, without its query; `nil` if there is an entity tag.
    ///
    /// ``lastModified`` identifies a version only at one URL.
    var locationFingerprint: String?
    /// `Date` of the same response; decides whether ``lastModified`` is a strong validator (RFC 9110, section 8.8.2.2).
    var date: String?
    /// The size of the file in bytes, in its content coding if it has one; `nil` if unknown.
    var totalBytes: Int64?
    /// `Content-Type` as received.
    var contentType: String?
    /// `Content-Encoding` in lower case; `nil` if the file is not encoded.
    var contentCoding: String?
    /// `true` if the coding was requested, and is removed once the file is complete; else `nil`.
    var isDecoded: Bool?
    /// Whether the server sent `Accept-Ranges: none`.
    var refusesRanges = false
    /// The server's checksum of the whole file, in the form of ``Checksum/description``; later runs verify it too.
    ///
    /// `nil` if the server sent no checksum that the library verifies.
    var checksum: String?
    /// `true` if only a checksum of the whole file can show that the received bytes are of one version; else `nil`.
    var isUnverified: Bool?
    /// `true` if the metadata came from a mirror instead of the source that each run tries first; otherwise `nil`.
    var isFromMirror: Bool?
    /// The ``DownloadRequest/requesterFingerprint(_:)`` of the request that the server responded to; `nil` if unknown.
    var requesterFingerprint: String?

    private enum CodingKeys: String, CodingKey {
        case entityTag, lastModified, date, totalBytes, contentType, contentCoding, isDecoded, refusesRanges, checksum
        case isUnverified, isFromMirror
        // The keys of these properties in resume records.
        case locationFingerprint = "place"
        case requesterFingerprint = "asker"
    }
}

extension RepresentationMetadata {
    /// Reads the metadata from a response; the caller supplies the size, which depends on the status.
    init(of head: borrowing ResponseHead, totalBytes: Int64?) {
        let codings = head.contentCodings
        let isDecoded = head.decodable == nil || codings.isEmpty ? false : !head.isCompressedFile
        // Status 203 means that a proxy modified the file (RFC 9110, section 15.3.4), so the validators do not apply.
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
            isDecoded: isDecoded ? true : nil,
            refusesRanges: head.acceptsRanges == false
        )
    }

    /// Whether the file has a content coding that was not requested, so that its parts cannot be combined.
    var hasUnrequestedCoding: Bool { contentCoding != nil && isDecoded != true }

    /// Returns a fingerprint of a URL without its query, as hexadecimal digits that do not reveal the URL.
    static func locationFingerprint(of url: URL) -> String { Fingerprint(locationOf: url).short }

    /// Returns the value of a field, or `nil` if it is missing.
    ///
    /// If the field occurs with different values, they are joined, so that no parser accepts the result.
    private static func field(_ name: String, of head: ResponseHead) -> String? {
        if let value = head.onlyValue(name) { return value }
        let values = head.values(name)
        return values.allSatisfy { $0 == values.first } ? values.first : values.joined(separator: ", ")
    }

    /// Whether the entity tag identifies only the size of the file.
    ///
    /// nginx and Apache build tags from the size and the modification time. If that time is a placeholder near 1970,
    /// all versions of the same size share a tag.
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
            // nginx sends seconds and then the size, Apache the size and then microseconds.
            let day: Int64 = 86_400
            return last == totalBytes && first < day || first == totalBytes && last / 1_000_000 < day
        }
        return isEpoch && lastModified.flatMap(HTTPDate.init(parsing:))?.isKnownTime == false
    }

    /// The media type without parameters, in lower case; `nil` if there is no `Content-Type`.
    var mediaType: String? {
        contentType?.split(separator: ";", omittingEmptySubsequences: false).first?.trimmed.lowercased()
    }

    /// Whether the media type is that of a web page, such as a login page or an error message.
    var isPage: Bool { mediaType == "text/html" || mediaType == "application/xhtml+xml" }
}

extension ResponseHead {
    /// Whether the file itself is compressed, such as `name.gz`.
    ///
    /// Some servers announce this compression as a content coding, which must then not be removed.
    fileprivate var isCompressedFile: Bool {
        let types = values("content-type").map { $0.prefix { $0 != ";" }.lowercased() }
        if types.contains("application/gzip") || types.contains("application/x-gzip") { return true }
        let name = url.path(percentEncoded: false).lowercased()
        return [".gz", ".tgz", ".svgz", ".br", ".zst"].contains { name.hasSuffix($0) }
    }

    /// The content codings of the body in lower case, without `identity` and the `none` that some servers send.
    var contentCodings: [String] { members("content-encoding").filter { $0 != "identity" && $0 != "none" } }

    /// Whether a range request can continue this response if it is truncated: the server supports ranges and has
    /// sent a strong validator.
    var isResumable: Bool {
        guard status == 206 || acceptsRanges == true else { return false }
        return EntityValidator(of: RepresentationMetadata(of: self, totalBytes: nil)) != nil
    }

    /// `true` if `Accept-Ranges` lists `bytes`, `false` if it lists `none` but not `bytes`, else `nil` (RFC 9110, section
    /// 14.3).
    ///
    /// The field is only a hint: a server may still ignore `Range`.
    var acceptsRanges: Bool? {
        // By far the most frequent value.
        if onlyValue("accept-ranges") == "bytes" { return true }
        let units = members("accept-ranges")
        if units.contains("bytes") { return true }
        return units.contains("none") ? false : nil
    }
}
