#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The part of a partial's name that the URL and the destination decide, so that a later run finds the bytes again.
///
/// It only tells names apart: the record inside says whose bytes they are.
struct PartialKey: Sendable, Hashable, CustomStringConvertible {
    let description: String

    init(url: URL, name: String) {
        self.init([ControlRecord.identity(of: url).absoluteString, "\n", name])
    }

    /// That of the place of an answer, whose query, of a signature perhaps, may be another one each time.
    init(placeOf url: URL) {
        self.init([String(ControlRecord.identity(of: url).absoluteString.prefix { $0 != "?" && $0 != "#" })])
    }

    private init(_ texts: [String]) {
        // FNV-1a, for want of a hash in the standard library that is the same in every run.
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for text in texts {
            text.withBytes { bytes in
                for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
            }
        }
        description = hash.hexadecimal
    }

    /// What the name of each partial ends with.
    static let end = ".part"

    /// What the name of the partial ends with.
    var suffix: String { ".\(self)" + Self.end }

    /// Whether a name in small letters ends like that of a partial.
    static func isAtEnd(of name: Substring) -> Bool {
        let parts = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count > 2 && parts[parts.count - 1].elementsEqual("part".utf8)
            && UInt64(hexadecimal: parts[parts.count - 2]) != nil
    }
}
