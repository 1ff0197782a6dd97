/// Why the bytes that are held cannot be continued, so that the download starts again at zero.
enum RestartReason: Error, Sendable, Hashable {
    case changedEntityTag
    case changedLastModified
    case changedLength(from: Int64, to: Int64)
    /// Neither a strong entity tag nor a strong date was sent with the bytes that are held.
    case noValidator
    /// Only a date was sent with the bytes that are held, and the answer is from another place, where many files may have it.
    case differentURL
    /// The bytes that are held were asked for with other fields or another login, and nothing tells that they are the same.
    case differentRequester
    /// The only entity tag is weak or malformed, or says no more than the size.
    case weakValidator
    /// The tag became weak: `"x"` is `W/"x"` now.
    case validatorBecameWeak
    /// The answer lacks the validator that the bytes that are held came with.
    case validatorMissing
    /// The bytes that were fetched again are not those that are held.
    case overlapDiffers
    /// Only bytes that are held came again, and no new ones with them.
    case overlapMissing
    /// The server says that it sends no ranges.
    case rangesRefused
    /// The whole came where a part was asked for.
    case rangeIgnored
    case rangeMisplaced(requested: Int64, got: Int64)
    case missingContentRange
    case invalidContentRange
    /// Several parts came in one body where one was asked for.
    case multipart
    /// The bytes are encoded, or were, so that positions in them mean nothing (RFC 9110, section 14.1.2).
    case contentCoding
    /// The bytes were put together on the word of a checksum that is not asked for any more.
    case unverified
    /// The bytes are of a file that has another size than is expected now.
    case wrongSize(expected: Int64)
    /// The bytes ended with a stream of HTTP/2, which does not verify that they are all of the file.
    case unverifiedEnd
    /// 412
    case preconditionFailed
    /// 416, with the length that the server told, which is too short for the range or for the file.
    case unsatisfiable(length: Int64?)
    /// 416, though the file has the bytes by the length that the server told.
    case partRefused(length: Int64)

    /// Whether the file may be the same still, on a server where each failure means a start at zero.
    var isUnverifiable: Bool {
        [.noValidator, .differentURL, .weakValidator, .rangesRefused, .rangeIgnored].contains(self)
    }

    /// The reason as one sentence for a person.
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
