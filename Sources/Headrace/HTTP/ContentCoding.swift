/// A content coding that can be removed from a file (RFC 9110, section 8.4.1).
enum ContentCoding: String, Sendable, Hashable, CaseIterable {
    /// RFC 9659.
    case zstd
    /// RFC 7932.
    case br
    case gzip
    /// Never requested, because servers disagree on its format; decoded if it is the zlib format of RFC 9110.
    case deflate

    /// Creates the coding with this name in lower case; `nil` if there is none.
    init?(name: String) {
        // `x-gzip` is an old name of `gzip` (section 8.4.1.3).
        self.init(rawValue: name == "x-gzip" ? "gzip" : name)
    }

    /// The name of the library that decodes it.
    var library: String {
        switch self {
        case .gzip, .deflate: "zlib"
        case .br: "libbrotlidec"
        case .zstd: "libzstd"
        }
    }

    /// Returns the value of `Accept-Encoding` for a system that can decode the given codings.
    static func accepted(decodable: Set<ContentCoding>) -> String {
        let names = allCases.filter { $0 != .deflate && decodable.contains($0) }.map(\.rawValue)
        return names.isEmpty ? "identity" : names.joined(separator: ", ")
    }

    /// Returns the reason why a body with these codings cannot be decoded, as a sentence; `nil` if it can be.
    static func problem(with codings: [String], decodable: Set<ContentCoding>) -> String? {
        guard let name = codings.first else { return nil }
        guard codings.count == 1 else {
            let list = String(codings.joined(separator: ", ").prefix(100)).printable
            return "The server applied several content codings (\(list)), but only one can be decoded."
        }
        guard let coding = ContentCoding(name: name) else {
            let name = String(name.prefix(100)).printable
            return "The server sent the file in the content coding \(name), which cannot be decoded."
        }
        guard !decodable.contains(coding) else { return nil }
        return "The server sent the file in the content coding \(coding.rawValue), although it was not requested. To "
            + "decode it, the system needs the library \(coding.library)."
    }
}
