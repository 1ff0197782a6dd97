/// A representation on the server, with its metadata and with the manners of the origin that serves it.
package struct Resource: Sendable {
    /// What an `If-Range` is worth to the origin.
    package enum IfRange: Sendable {
        /// Compared as RFC 9110 says.
        case honoured
        /// Not looked at: the range is served whatever has changed.
        case ignored
        /// Never true: the whole is served although nothing has changed.
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
    /// The literal value of `Accept-Ranges`, as in `bytes` or `none`; `nil` for none.
    package var acceptRanges: String?
    /// The literal value of `Content-Type`; `nil` for none.
    package var contentType: String?
    /// False for an origin that answers 200 to every range.
    package var supportsRanges: Bool
    /// What the origin does with `If-Range`.
    package var ifRange: IfRange
    /// By how many bytes a 206 is wider than what was asked for, before and behind it; narrower where negative.
    package var partMargins: (before: Int64, after: Int64) = (0, 0)
    /// Whether a 206 tells the size of the whole.
    package var includesCompleteLength = true

    /// Creates a resource that is served as well as can be.
    /// - Parameters:
    ///   - body: The content.
    ///   - etag: The literal value of `ETag`.
    ///   - lastModified: The literal value of `Last-Modified`.
    ///   - date: The literal value of `Date`; the default makes the default of `lastModified` a strong validator.
    ///   - acceptRanges: The literal value of `Accept-Ranges`.
    ///   - contentType: The literal value of `Content-Type`.
    ///   - honoursRange: Whether ranges are served.
    ///   - ifRange: What `If-Range` is worth.
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
    ///   - seed: The pattern's seed; another seed and another tag make another version.
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
