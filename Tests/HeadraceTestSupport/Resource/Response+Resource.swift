extension Response {
    /// Serves a resource with 200, 206, 304, 412 or 416 as in RFC 9110, unless its origin is set to misbehave.
    ///
    /// `If-Unmodified-Since` is true, and `If-Modified-Since` false, only for the exact date of the resource, since any
    /// other date belongs to another version.
    package static func file(_ resource: Resource) -> Response {
        answering { request in
            guard resource.satisfiesPreconditions(of: request) else { return .status(412) }
            guard resource.isModified(for: request) else {
                return Response.status(304).withHead { $0.fields = resource.fields }
            }
            guard resource.supportsRanges, let range = request["Range"].flatMap(RequestedRange.init),
                resource.satisfiesIfRange(of: request)
            else {
                return whole(resource)
            }
            guard let range = range.range(ofSize: resource.size) else {
                return .status(416, headers: ["Content-Range": "bytes */\(resource.size)"])
            }
            return part(resource.served(range), of: resource)
        }
    }

    /// Serves the whole resource with a 200, whatever was requested.
    package static func whole(_ resource: Resource) -> Response {
        .ok(resource.body).withHead { $0.fields = resource.fields + $0.fields }
    }

    /// Serves one range of a resource with a 206, whatever was requested.
    package static func part(_ range: Range<Int64>, of resource: Resource) -> Response {
        let total = resource.includesCompleteLength ? "\(resource.size)" : "*"
        return .status(206, body: resource.body.slice(range))
            .withHead { $0.fields = resource.fields + $0.fields }
            .contentRange("bytes \(range.lowerBound)-\(range.upperBound - 1)/\(total)")
    }
}

extension Resource {
    /// Returns the range to send for a requested one: with the margins, or unchanged if they would leave nothing.
    fileprivate func served(_ range: Range<Int64>) -> Range<Int64> {
        let lower = max(0, range.lowerBound - partMargins.before)
        let upper = min(size, range.upperBound + partMargins.after)
        return lower < upper ? lower..<upper : range
    }

    /// Evaluates `If-Match` and `If-Unmodified-Since` (RFC 9110, section 13.2.2).
    fileprivate func satisfiesPreconditions(of request: RecordedRequest) -> Bool {
        if let wanted = request["If-Match"] {
            return wanted == "*" || isStrong(etag) && tags(in: wanted).contains { $0 == etag }
        }
        if let date = request["If-Unmodified-Since"], lastModified != nil {
            return date == lastModified
        }
        return true
    }

    /// Evaluates `If-None-Match`, by weak comparison, or `If-Modified-Since` in its absence.
    fileprivate func isModified(for request: RecordedRequest) -> Bool {
        if let wanted = request["If-None-Match"] {
            return !tags(in: wanted).contains { etag.map(opaque) == opaque(of: $0) }
        }
        return request["If-Modified-Since"].map { $0 != lastModified } ?? true
    }

    private func opaque(of tag: String) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...] }

    /// Evaluates `If-Range`, which only a strong tag or the exact date satisfies (RFC 9110, section 13.1.5).
    fileprivate func satisfiesIfRange(of request: RecordedRequest) -> Bool {
        guard let wanted = request["If-Range"] else { return true }
        return switch ifRange {
        case .honoured: wanted == lastModified || isStrong(etag) && wanted == etag
        case .ignored: true
        case .refused: false
        }
    }

    private func isStrong(_ tag: String?) -> Bool {
        tag.map { !$0.hasPrefix("W/") } ?? false
    }

    private func tags(in list: String) -> [String] {
        list.split(separator: ",").map { $0.drop { $0 == " " } }.map(String.init)
    }
}
