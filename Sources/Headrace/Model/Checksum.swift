import HeadracePlatform

/// A checksum that a downloaded file is verified against.
///
///     request.checksums = [try Checksum(parsing: "sha256:\(digits)")]
public struct Checksum: Sendable, Hashable {
    /// A hash function or CRC; the cases are ordered by strength, the weakest first.
    public enum Algorithm: String, Sendable, Hashable, CaseIterable {
        /// CRC-32 (ISO/IEC 3309): detects transmission errors, but not forgeries.
        case crc32
        /// CRC-32C (RFC 3720, section 12.1): detects transmission errors, but not forgeries.
        case crc32c
        /// CRC-64/NVME, the default of Amazon S3: detects transmission errors, but not forgeries.
        case crc64nvme
        /// MD5 (RFC 1321): detects accidental changes, but not forgeries.
        case md5
        /// SHA-1 (RFC 3174): detects accidental changes, but not forgeries.
        case sha1
        /// SHA-256 (RFC 6234).
        case sha256
        /// SHA-384 (RFC 6234).
        case sha384
        /// SHA-512 (RFC 6234).
        case sha512

        /// The number of bytes in a hash.
        public var byteCount: Int {
            switch self {
            case .crc32, .crc32c: 4
            case .crc64nvme: 8
            case .md5: 16
            case .sha1: 20
            case .sha256: 32
            case .sha384: 48
            case .sha512: 64
            }
        }

        /// Whether the algorithm is a hash function and not a CRC.
        package var isHash: Bool { byteCount >= Self.md5.byteCount }
    }

    /// The hash function.
    public let algorithm: Algorithm
    /// The hash value, ``Algorithm/byteCount`` bytes long.
    public let bytes: [UInt8]

    /// Creates a checksum; `nil` if the number of bytes is not ``Algorithm/byteCount``.
    /// - Parameters:
    ///   - algorithm: The hash function.
    ///   - bytes: The hash.
    public init?(_ algorithm: Algorithm, bytes: some Collection<UInt8>) {
        guard bytes.count == algorithm.byteCount else { return nil }
        self.algorithm = algorithm
        self.bytes = Array(bytes)
    }

    /// Parses `sha256:HEX`, `sha256=HEX` or `sha256-BASE64`.
    ///
    /// The last form is a single checksum of Subresource Integrity (W3C, section 3.5), whose options are ignored.
    /// - Parameter text: The text; names and hexadecimal digits are case-insensitive, and `sha-256` means `sha256`.
    /// - Throws: `invalidRequest` if the text has none of these forms.
    public init(parsing text: String) throws(DownloadError) {
        guard let (algorithm, rest) = Algorithm.prefix(of: text), let separator = rest.utf8.first,
            ":=-".utf8.contains(separator)
        else {
            throw DownloadError(
                .invalidRequest,
                "\"\(text.prefix(40).description.printable)\" is not a checksum: it must begin with one of "
                    + "\(Algorithm.allCases.map(\.rawValue).joined(separator: ", ")), followed by : or =."
            )
        }
        let value = Substring(rest.utf8.dropFirst())
        let isBase64 = separator == UInt8(ascii: "-")
        let bytes = isBase64 ? [UInt8](base64: value.prefix { $0 != "?" }) : [UInt8](hexadecimal: value)
        guard let checksum = bytes.flatMap({ Checksum(algorithm, bytes: $0) }) else {
            let count = algorithm.byteCount
            throw DownloadError(
                .invalidRequest,
                "\(algorithm) requires \(isBase64 ? "\(count) bytes in base64" : "\(count * 2) hexadecimal digits"), not \"\(value.prefix(140).description.printable)\"."
            )
        }
        self = checksum
    }
}

extension Checksum {
    /// Parses a checksum like ``init(parsing:)``, or hexadecimal digits alone.
    ///
    /// Without a name, the number of digits determines the hash function; CRCs are not recognized.
    package init(parsingAny text: String) throws(DownloadError) {
        let algorithm = Algorithm.allCases.first { $0.isHash && 2 * $0.byteCount == text.utf8.count }
        let bytes = [UInt8](hexadecimal: text[...])
        if let algorithm, let bytes, let checksum = Checksum(algorithm, bytes: bytes) {
            self = checksum
        } else {
            try self.init(parsing: text)
        }
    }
}

extension Checksum: LosslessStringConvertible {
    /// Parses a checksum like ``init(parsing:)``, but returns `nil` instead of throwing.
    /// - Parameter description: The text.
    public init?(_ description: String) {
        try? self.init(parsing: description)
    }

    /// The checksum in the form `sha256:HEX`, in lower case.
    public var description: String { "\(algorithm):\(hexadecimal)" }

    /// The hexadecimal digits, in lower case.
    public var hexadecimal: String { bytes.map(\.hexadecimal).joined() }
}

extension Checksum.Algorithm: Comparable, CustomStringConvertible {
    /// The name of the hash function, such as `sha256`.
    public var description: String { rawValue }

    /// Compares the strength of two hash functions.
    /// - Parameters:
    ///   - lhs: A hash function.
    ///   - rhs: Another hash function.
    /// - Returns: Whether the first is weaker.
    public static func < (lhs: Self, rhs: Self) -> Bool {
        (lhs.byteCount, lhs.rawValue) < (rhs.byteCount, rhs.rawValue)
    }

    /// Finds a hash function by name, in upper or lower case: `sha256`, `sha-256` or, as in OpenSSL, `sha2-256`.
    ///
    /// Returns `nil` for other names, including those of CRCs.
    init?(name: some StringProtocol) {
        let name = name.lowercased()
        guard let algorithm = Self.allCases.first(where: { $0.isHash && $0.names.contains(name) }) else { return nil }
        self = algorithm
    }

    /// Splits a text into the hash function that it begins with and the remaining text; `nil` if it begins with none.
    fileprivate static func prefix(of text: String) -> (Self, Substring)? {
        let start = text.prefix(12).lowercased()
        for algorithm in allCases {
            for name in algorithm.names where start.hasPrefix(name) {
                let rest = Substring(text.utf8.dropFirst(name.utf8.count))
                // The name of one function may begin with that of another.
                if rest.utf8.first?.isLetterOrDigit == false { return (algorithm, rest) }
            }
        }
        return nil
    }

    private var names: [String] {
        let bits = rawValue.drop { !$0.isNumber }
        return rawValue.hasPrefix("sha") ? [rawValue, "sha-\(bits)", "sha2-\(bits)"] : [rawValue]
    }
}

extension Sequence<Checksum> {
    /// The checksum with the strongest hash function, the first one if several have it; `nil` if there are none.
    package var strongest: Checksum? { self.max { $0.algorithm < $1.algorithm } }

    /// A hash function that has several different checksums here, so that no file can match all of them; `nil` if there
    /// is no such function.
    package var contradiction: Checksum.Algorithm? {
        Dictionary(grouping: Set(self), by: \.algorithm).first { $0.value.count > 1 }?.key
    }
}

extension [UInt8] {
    /// Parses pairs of hexadecimal digits; returns `nil` for any other text.
    init?(hexadecimal digits: some StringProtocol) {
        guard digits.utf8.count.isMultiple(of: 2) else { return nil }
        self = []
        var rest = digits.utf8.makeIterator()
        while let high = rest.next() {
            guard let high = high.hexDigit, let low = rest.next()?.hexDigit else { return nil }
            append(high << 4 | low)
        }
    }

    /// Parses base64 in either alphabet (RFC 4648, sections 4 and 5), padded or not; returns `nil` if it is malformed.
    ///
    /// Unused bits of the last digit are ignored.
    init?(base64 text: some StringProtocol) {
        let digits = String(text.prefix { $0 != "=" })
        let padded = digits + String(repeating: "=", count: -digits.utf8.count & 3)
        guard text == digits || text == padded,
            let data = Data(base64Encoded: padded.replacing("-", with: "+").replacing("_", with: "/"))
        else { return nil }
        self = Array(data)
    }
}
