/// The reason why a download cannot resume from the received bytes and restarts from zero.
enum RestartReason: Error, Sendable, Hashable {
    case changedEntityTag
    case changedLastModified
    case changedLength(from: Int64, to: Int64)
    /// The server sent neither an entity tag nor a strong `Last-Modified` date with the received bytes.
    case noValidator
    /// The only validator is a date, and the response is from another URL, where another file may have the same date.
    case differentURL
    /// The received bytes were requested with other header fields or another login, and no validator shows that the
    /// file is the same.
    case differentRequester
    /// The only entity tag is weak, malformed or derived from the size alone.
    case weakValidator
    /// The entity tag became weak: `"x"` is now `W/"x"`.
    case validatorBecameWeak
    /// The response lacks the validator that the server sent with the received bytes.
    case validatorMissing
    /// The bytes that were requested again for comparison differ from the received ones.
    case overlapDiffers
    /// The response contains only bytes that were received before, although the file does not end with them.
    case overlapMissing
    /// The server sent `Accept-Ranges: none`.
    case rangesRefused
    /// The server sent the whole file although a part was requested.
    case rangeIgnored
    case rangeMisplaced(requested: Int64, got: Int64)
    case missingContentRange
    case invalidContentRange
    /// The server sent several ranges in one body although a single range was requested.
    case multipart
    /// The response or the received bytes are encoded, so byte positions do not match (RFC 9110, section 14.1.2).
    case contentCoding
    /// The received bytes may be of several versions, and the request no longer has a checksum to verify them.
    case unverified
    /// The received bytes are of a file whose size differs from the expected one.
    case wrongSize(expected: Int64)
    /// The received bytes ended with an HTTP/2 stream, which does not show that they are the whole file.
    case unverifiedEnd
    /// The server responded with status 412.
    case preconditionFailed
    /// A 416 response; the length, if the server sent one, leaves no bytes to request or is below the known size.
    case unsatisfiable(length: Int64?)
    /// A 416 response, although the length that the server sent includes the requested bytes.
    case partRefused(length: Int64)

    /// Whether the server lacks usable validators or range support, so that every interruption causes a restart.
    var isUnverifiable: Bool {
        [.noValidator, .differentURL, .weakValidator, .rangesRefused, .rangeIgnored].contains(self)
    }

    /// The reason as one sentence for the user.
    var sentence: String {
        switch self {
        case .changedEntityTag: "The file changed on the server: its entity tag is different."
        case .changedLastModified: "The file changed on the server: its modification date is different."
        case .changedLength(let old, let new): "The file changed on the server: it had \(old) bytes and now has \(new)."
        case .noValidator: "The server sent no validator to show that the file is unchanged."
        case .differentURL: "The file now comes from another URL, and its date does not show that it is unchanged."
        case .differentRequester: "The received bytes were requested with other header fields or another login."
        case .weakValidator:
            "The server's entity tag is weak, malformed or based on the size, and does not show that the file is unchanged."
        case .validatorBecameWeak: "The server's entity tag became weak and does not show that the file is unchanged."
        case .validatorMissing: "The response lacks the validator that the received bytes came with."
        case .overlapDiffers: "The file changed on the server: its bytes differ from the last ones received."
        case .overlapMissing: "The response was too short to compare it with the received bytes."
        case .rangesRefused: "The server does not support range requests."
        case .rangeIgnored: "The server sent the whole file instead of the rest."
        case .rangeMisplaced(let requested, let got):
            "The server sent bytes from position \(got) instead of \(requested)."
        case .missingContentRange: "The server sent a part of the file without a Content-Range."
        case .invalidContentRange: "The server sent a part of the file with an invalid Content-Range."
        case .multipart: "The server sent several parts although one was requested."
        case .contentCoding: "The server encodes the file, so its parts cannot be combined."
        case .unverified: "The received bytes need a checksum to verify them, and the request no longer has one."
        case .wrongSize(let expected): "The received bytes do not fit the expected size of \(expected) bytes."
        case .unverifiedEnd: "The server sent the file over HTTP/2 without its size, so it may be truncated."
        case .preconditionFailed: "The file changed on the server, which refused to send the rest."
        case .unsatisfiable(let length?): "The server has only \(length) bytes and cannot send the rest."
        case .unsatisfiable(nil): "The server cannot send the rest."
        case .partRefused(let length): "The server refused to send the rest, although it has \(length) bytes."
        }
    }
}
