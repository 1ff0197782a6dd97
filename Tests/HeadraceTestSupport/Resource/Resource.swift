/// A representation on the server, with its metadata and the behaviour of its origin.
package struct Resource: Sendable {
    /// How the origin treats `If-Range`.
    package enum IfRange: Sendable {
        /// Evaluated as in RFC 9110.
        case honoured
        /// Never evaluated: the range is served even if the representation has changed.
        case ignored
        /// Never true: the whole is served even if nothing has changed.
        case refused
    }

    /// The content.
    package var body: Response.Body
    /// The literal value of `ETag`; `nil` for none.
    package var etag: String?
    /// The literal value of `Last-Modified`; `nil` for none.
    package var lastModified: String?
    /// The literal value of `Date`; `nil` for none.
    package var date: String?
    /// The literal value of `Accept-Ranges`, such as `bytes` or `none`; `nil` for none.
    package var acceptRanges: String?
    /// The literal value of `Content-Type`; `nil` for none.
    package var contentType: String?
    /// Whether the origin serves ranges; otherwise every response is a 200.
    package var supportsRanges: Bool
    /// How the origin treats `If-Range`.
    package var ifRange: IfRange
    /// The number of bytes by which a 206 exceeds the requested range before and after it; it is narrower if negative.
    package var partMargins: (before: Int64, after: Int64) = (0, 0)
    /// Whether a 206 includes the complete length.
    package var includesCompleteLength = true

    /// Creates a resource whose origin behaves correctly by default.
    /// - Parameters:
    ///   - body: The content.
    ///   - etag: The literal value of `ETag`.
    ///   - lastModified: The literal value of `Last-Modified`.
    ///   - date: The literal value of `Date`; the default makes the default of `lastModified` a strong validator.
    ///   - acceptRanges: The literal value of `Accept-Ranges`.
    ///   - contentType: The literal value of `Content-Type`.
    ///   - supportsRanges: Whether ranges are served.
    ///   - ifRange: How the origin treats `If-Range`.
    package init(
        _ body: Response.Body,
        etag: String? = "\"v1\"",
        lastModified: String? = "Wed, 01 Jan 2025 00:00:00 GMT",
        date: String? = "Thu, 02 Jan 2025 00:00:00 GMT",
        acceptRanges: String? = "bytes",
        contentType: String? = "application/octet-stream",
        supportsRanges: Bool = true,
        ifRange: IfRange = .honoured
    ) {
        self.body = body
        self.etag = etag
        self.lastModified = lastModified
        self.date = date
        self.acceptRanges = acceptRanges
        self.contentType = contentType
        self.supportsRanges = supportsRanges
        self.ifRange = ifRange
    }

    /// Creates a resource of a size, filled with a pattern.
    /// - Parameters:
    ///   - size: The number of bytes.
    ///   - seed: The pattern's seed; use another seed and another tag for another version.
    ///   - etag: The literal value of `ETag`.
    package init(size: Int64, seed: UInt64 = 1, etag: String? = "\"v1\"") {
        self.init(.pattern(seed: seed, size: size), etag: etag)
    }

    /// The number of bytes.
    package var size: Int64 {
        body.count
    }

    /// The fields that every representation of the resource carries.
    var fields: [(name: String, value: String)] {
        let candidates = [
            ("Date", date), ("Content-Type", contentType), ("ETag", etag), ("Last-Modified", lastModified),
            ("Accept-Ranges", acceptRanges),
        ]
        return candidates.compactMap { name, value in value.map { (name, $0) } }
    }
}
