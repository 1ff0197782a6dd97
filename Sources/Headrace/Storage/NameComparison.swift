/// How a file system decides whether two names are equal.
package enum NameComparison: Sendable, Hashable {
    /// Names are equal if their bytes are, as on most file systems of Linux.
    case bytes
    /// Names are equal if their texts are, in any Unicode normal form.
    case normalForms
    /// Names are equal if their texts are, regardless of case, as on APFS by default.
    case ignoringCase

    /// A key for comparing paths: two paths that name the same file have equal keys.
    struct Key: Sendable, Hashable {
        private let bytes: [UInt8]
        /// The text of the key, compared by canonical equivalence like any `String`.
        private let text: String

        fileprivate init(bytes: [UInt8] = [], text: String = "") {
            (self.bytes, self.text) = (bytes, text)
        }
    }

    /// Returns the key of a path.
    func key(of path: String) -> Key {
        switch self {
        case .bytes: Key(bytes: Array(path.utf8))
        case .normalForms: Key(text: path)
        // Some letters map in one direction only: the long s only to upper case, the Kelvin sign only to lower case.
        case .ignoringCase: Key(text: path.uppercased().lowercased())
        }
    }
}
