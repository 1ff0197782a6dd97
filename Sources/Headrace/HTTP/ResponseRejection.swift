/// Why an answer is of no use at all: nothing of its body is written, and all bytes that are held are kept.
enum ResponseRejection: Sendable, Hashable {
    /// A status that carries no file, errors among them.
    case status(Int)
    /// 401 to a request with a login.
    case loginRefused
    /// 401 where the server takes only logins of other kinds than there are here.
    case unsupportedLogin(scheme: String)
    /// 304 to a request without a condition.
    case notModified
    /// A part of the file where the whole was asked for.
    case unrequestedRange
    /// A part that does not have the length which its position means.
    case lengthMismatch(announced: Int64, range: Range<Int64>)
    /// What looks like a login or error page in place of the file of which more bytes are held already.
    case unexpectedContent(mediaType: String?)
    /// Another size than the file has to have, or more of it than that.
    case wrongSize(Int64, expected: Int64)
    /// An answer that contradicts itself, with a sentence that says how.
    case violation(String)

    /// Says what a 401 is for.
    init(unauthorized head: ResponseHead) {
        let schemes = Challenge.all(of: head).map(\.scheme)
        let isSupported: (String) -> Bool = { AuthenticationScheme(rawValue: $0) != nil || $0 == head.refusedLogin }
        if let scheme = schemes.first, !schemes.contains(where: isSupported) {
            self = .unsupportedLogin(scheme: scheme)
        } else {
            self = head.refusedLogin == nil ? .status(401) : .loginRefused
        }
    }

    /// The status to report, where the status is the reason.
    var statusCode: Int? {
        switch self {
        case .status(let status): status
        case .loginRefused, .unsupportedLogin: 401
        case .notModified: 304
        default: nil
        }
    }

    /// The reason as one sentence for a person.
    var sentence: String {
        switch self {
        case .status(401): "The server answered with status 401, Unauthorized."
        case .status(let status): "The server answered with status \(status)."
        case .loginRefused: "The server answered with status 401. It refuses the login that it was given."
        case .unsupportedLogin(let scheme):
            "The server answered with status 401. It asks for a login by \(scheme), which is not supported."
        case .notModified: "The server answered \"not modified\" to a request that had no condition."
        case .unrequestedRange: "The server sent a part of the file where all of it was asked for."
        case .lengthMismatch(let announced, let range):
            "The server announced \(announced) bytes for the positions \(range.lowerBound) to \(range.upperBound - 1)."
        case .unexpectedContent(let type?):
            "The server sent something of type \(type.printable) in place of the file, perhaps a login page. The bytes held are "
                + "kept."
        case .unexpectedContent(nil):
            "The server sent something else in place of the file, perhaps a login page. The bytes held are kept."
        case .wrongSize(let size, let expected):
            "The server has \(size) bytes of the file, and \(expected) are expected. Compare the size with its publisher's, "
                + "or take the file from another source."
        case .violation(let sentence): sentence
        }
    }
}
