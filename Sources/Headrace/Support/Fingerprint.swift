import HeadracePlatform

/// The part of a partial's name that the URL and the destination decide, so that a later run finds the bytes again.
///
/// It only tells names apart: the record inside says whose bytes they are.
struct Fingerprint: Sendable, Hashable, CustomStringConvertible {
    let description: String

    init(url: URL, name: String) {
        self.init(url: url) { $0.add(name) }
    }

    /// The name comes in parts.
    init(url: URL, _ addName: (inout Hash) -> Void) {
        var hash = Hash()
        hash.add(url.identity.absoluteString)
        hash.add("\n")
        addName(&hash)
        description = hash.value.hexadecimal
    }

    /// That of the place of an answer, whose query, of a signature perhaps, may be another one each time.
    init(placeOf url: URL) {
        var hash = Hash()
        hash.add(String(url.identity.absoluteString.prefix { $0 != "?" && $0 != "#" }))
        description = hash.value.hexadecimal
    }

    /// That of a text.
    init(_ text: String) {
        var hash = Hash()
        hash.add(text)
        description = hash.value.hexadecimal
    }

    /// How many digits ``short`` has.
    static let shortLength = 8

    /// Half of the digits.
    var short: String { String(description.prefix(Self.shortLength)) }

    /// FNV-1a, for want of a hash in the standard library that is the same in every run.
    struct Hash {
        fileprivate var value: UInt64 = 0xcbf2_9ce4_8422_2325

        mutating func add(_ text: String) {
            text.withBytes { bytes in
                for byte in bytes { value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
            }
        }
    }

    /// What the name of the partial ends with.
    var suffix: String { ".\(self)" + ReservedFileNames.partialSuffix }

    /// Whether a name in small letters ends like that of a partial.
    static func isAtEnd(of name: Substring) -> Bool {
        let parts = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count > 2 && parts[parts.count - 1].elementsEqual("part".utf8)
            && UInt64(hexadecimal: parts[parts.count - 2]) != nil
    }
}
