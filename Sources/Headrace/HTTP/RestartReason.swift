/// The reason why the received bytes cannot be continued, so that the download restarts at zero.
enum RestartReason: Error, Sendable, Hashable {
    case changedEntityTag
    case changedLastModified
    case changedLength(from: Int64, to: Int64)
    /// The received bytes came with neither a strong entity tag nor a strong date.
    case noValidator
    /// The received bytes came with only a date, and the response is from another URL, at which any file may have that date.
    case differentURL
    /// The received bytes were requested with other fields or another login, and no validator shows that the file is the same.
    case differentRequester
    /// The only entity tag is weak, malformed or derived from the size alone.
    case weakValidator
    /// The entity tag became weak: `"x"` is now `W/"x"`.
    case validatorBecameWeak
    /// The response lacks the validator that the received bytes came with.
    case validatorMissing
    /// The bytes that were requested again differ from those received before.
    case overlapDiffers
    /// The response repeats received bytes and contains no new ones.
    case overlapMissing
    /// The server sent `Accept-Ranges: none`.
    case rangesRefused
    /// The server sent the whole file although a part was requested.
    case rangeIgnored
    case rangeMisplaced(requested: Int64, got: Int64)
    case missingContentRange
    case invalidContentRange
    /// The server sent several parts in one body although one was requested.
    case multipart
    /// The bytes are or were encoded, so positions in them are meaningless (RFC 9110, section 14.1.2).
    case contentCoding
    /// The bytes were combined because a checksum would verify them, and the request no longer has one.
    case unverified
    /// The bytes are of a file with another size than is expected now.
    case wrongSize(expected: Int64)
    /// The bytes ended with an HTTP/2 stream, which does not show that they are the whole file.
    case unverifiedEnd
    /// The server responded with status 412.
    case preconditionFailed
    /// A 416 response; the length, if the server sent one, is too short for the range or for the file.
    case unsatisfiable(length: Int64?)
    /// A 416 response, although the length that the server sent includes the requested bytes.
    case partRefused(length: Int64)

    /// Whether the file may be unchanged on a server without usable validators or ranges, where every failure causes a restart.
    var isUnverifiable: Bool {
        [.noValidator, .differentURL, .weakValidator, .rangesRefused, .rangeIgnored].contains(self)
    }

    /// The reason as one sentence for the user.
    var sentence: String {
        switch self {
        case .changedEntityTag: "The file changed on the server: it has another entity tag."
        case .changedLastModified: "The file changed on the server: it has another date."
        case .changedLength(let old, let new): "The file changed on the server: it had \(old) bytes and has \(new)."
        case .noValidator: "The server gave nothing that could prove that the file is still the same."
        case .differentURL: "The file comes from another place now, where the same date proves nothing."
        case .differentRequester: "The bytes so far were asked for with other header fields or another login."
        case .weakValidator:
            "The server's entity tag is weak, malformed or only of the size, and cannot prove that the file is the same."
        case .validatorBecameWeak: "The server's entity tag became weak and cannot prove that the file is the same."
        case .validatorMissing: "The server's answer lacks what would prove that the file is still the same."
        case .overlapDiffers: "The file changed on the server: the last bytes held are not in it."
        case .overlapMissing: "The server sent too little to compare it with the bytes held."
        case .rangesRefused: "The server says that it does not send parts of files."
        case .rangeIgnored: "The server sent the whole file instead of the rest."
        case .rangeMisplaced(let requested, let got):
            "The server sent bytes from \(got) where \(requested) was asked for."
        case .missingContentRange: "The server did not say which part of the file it sent."
        case .invalidContentRange: "The server said in no valid way which part of the file it sent."
        case .multipart: "The server sent several parts where one was asked for."
        case .contentCoding: "The server encodes the file, so that its parts do not fit together."
        case .unverified: "The bytes so far came by the word of a checksum, and there is none any more to prove them."
        case .wrongSize(let expected): "The bytes so far are not of a file of the \(expected) bytes that are expected."
        case .unverifiedEnd: "The server sent the file over HTTP/2 without its size, so that a cut looks like its end."
        case .preconditionFailed: "The file changed on the server, which refused to send the rest."
        case .unsatisfiable(let length?): "The server has only \(length) bytes and cannot send the rest."
        case .unsatisfiable(nil): "The server cannot send the rest."
        case .partRefused(let length): "The server refused to send the rest, though it has \(length) bytes."
        }
    }
}
