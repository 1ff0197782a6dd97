/// The reason why a response is rejected: its body is not written, and the bytes of earlier responses are retained.
enum ResponseRejection: Sendable, Hashable {
    /// A status whose body is not the file, such as 404.
    case status(Int)
    /// A 401 response to a request with a login.
    case loginRefused
    /// A 401 response from a server that accepts only unsupported kinds of login.
    case unsupportedLogin(scheme: String)
    /// A 304 response to a request without a condition.
    case notModified
    /// A part of the file although the whole file was requested.
    case unrequestedRange
    /// A part of the file whose `Content-Length` contradicts its `Content-Range`.
    case lengthMismatch(announced: Int64, range: Range<Int64>)
    /// The content is probably a login or error page instead of the rest of the file.
    case unexpectedContent(mediaType: String?)
    /// The size of the file, or a lower bound for it, contradicts the expected size.
    case wrongSize(Int64, expected: Int64)
    /// The body has a content coding that cannot be removed; the text is a sentence that explains why.
    case contentCoding(String)
    /// The response violates HTTP; the text is a sentence that explains how.
    case violation(String)

    /// Determines the reason for rejecting a 401 response.
    init(unauthorized head: ResponseHead) {
        let challenges = Challenge.all(of: head)
        let isSupported: (Challenge) -> Bool = { $0.supportedScheme != nil || $0.scheme == head.refusedLogin }
        if let first = challenges.first, !challenges.contains(where: isSupported) {
            self = .unsupportedLogin(scheme: first.scheme)
        } else {
            self = head.refusedLogin == nil ? .status(401) : .loginRefused
        }
    }

    /// The status code of the response, if the response is rejected for its status; otherwise `nil`.
    var statusCode: Int? {
        switch self {
        case .status(let status): status
        case .loginRefused, .unsupportedLogin: 401
        case .notModified: 304
        default: nil
        }
    }

    /// The reason as one sentence for the user.
    var sentence: String {
        switch self {
        case .status(let status):
            "The server responded with status \(status)\(StatusName.of(status).map { ", \($0)" } ?? "")."
        case .loginRefused: "The server responded with status 401. It rejected the login."
        case .unsupportedLogin(let scheme):
            "The server responded with status 401. It requires a login by \(scheme), which is not supported."
        case .notModified: "The server responded \"not modified\" to a request without a condition."
        case .unrequestedRange: "The server sent a part of the file although the whole file was requested."
        case .lengthMismatch(let announced, let range):
            "The server announced \(announced) bytes for the positions \(range.lowerBound) to \(range.upperBound - 1)."
        case .unexpectedContent(let type?):
            "The server sent content of type \(type.printable) instead of the file, perhaps a login page. The received "
                + "bytes are kept."
        case .unexpectedContent(nil):
            "The server sent other content instead of the file, perhaps a login page. The received bytes are kept."
        case .wrongSize(let size, let expected):
            "The server has \(size) bytes of the file, but \(expected) are expected. Compare the size with its publisher's, "
                + "or download the file from another source."
        case .contentCoding(let sentence), .violation(let sentence): sentence
        }
    }
}
