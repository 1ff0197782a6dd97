import HeadracePlatform

/// A 64-bit hash that is the same in every run.
///
/// For example, the name of a partial file contains the fingerprint of the download's URL and file name. It only makes
/// names distinct; the resume record identifies the download that the bytes belong to.
struct Fingerprint: Sendable, Hashable, CustomStringConvertible {
    let description: String

    init(url: URL, name: String) {
        self.init(url: url) { $0.add(name) }
    }

    /// Hashes a URL, followed by the texts that `addName` adds.
    init(url: URL, _ addName: (inout Hash) -> Void) {
        var hash = Hash()
        hash.add(url.identity.absoluteString)
        hash.add("\n")
        addName(&hash)
        description = hash.value.hexadecimal
    }

    /// Hashes the location of a response without its query, which may contain a signature that changes each time.
    init(locationOf url: URL) {
        var hash = Hash()
        hash.add(String(url.identity.absoluteString.prefix { $0 != "?" && $0 != "#" }))
        description = hash.value.hexadecimal
    }

    /// Hashes an arbitrary text.
    init(_ text: String) {
        var hash = Hash()
        hash.add(text)
        description = hash.value.hexadecimal
    }

    /// The number of digits of ``short``.
    static let shortLength = 8

    /// The first half of the hexadecimal digits, for uses in which 32 bits suffice.
    var short: String { String(description.prefix(Self.shortLength)) }

    /// FNV-1a, since the standard library has no hash that is the same in every run.
    struct Hash {
        fileprivate var value: UInt64 = 0xcbf2_9ce4_8422_2325

        mutating func add(_ text: String) {
            text.withBytes { bytes in
                for byte in bytes { value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
            }
        }
    }

    /// The suffix of a partial file's name, such as `.0123456789abcdef.part`.
    var suffix: String { ".\(self)" + ReservedFileNames.partialSuffix }

    /// Whether a lower-case file name ends with a fingerprint and `.part`, as the name of a partial file does.
    static func isAtEnd(of name: Substring) -> Bool {
        let parts = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count > 2 && parts[parts.count - 1].elementsEqual("part".utf8)
            && UInt64(hexadecimal: parts[parts.count - 2]) != nil
    }
}
