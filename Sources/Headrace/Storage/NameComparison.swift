/// How a file system decides whether two names are equal.
package enum NameComparison: Sendable, Hashable {
    /// Names are equal if their bytes are equal, as on most file systems of Linux.
    case bytes
    /// Names that differ only in their Unicode normal form are equal.
    case normalForms
    /// Names that differ only in case or Unicode normal form are equal, as on APFS by default.
    case ignoringCase

    /// A key for comparing paths: two paths with names that the file system considers equal have equal keys.
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
