/// How a file system tells two names apart.
package enum NameComparison: Sendable, Hashable {
    /// By their bytes, as most file systems of Linux do.
    case bytes
    /// By their text, in whatever normal form its bytes are.
    case normalForms
    /// By their text without regard to case, as APFS does by default.
    case ignoringCase

    /// What two paths have in common if they name one file.
    struct Key: Sendable, Hashable {
        private let bytes: [UInt8]
        /// Compared by canonical equivalence, as `String` is.
        private let text: String

        fileprivate init(bytes: [UInt8] = [], text: String = "") {
            (self.bytes, self.text) = (bytes, text)
        }
    }

    /// The key of a path.
    func key(of path: String) -> Key {
        switch self {
        case .bytes: Key(bytes: Array(path.utf8))
        case .normalForms: Key(text: path)
        // Some letters have their pair only in one direction: the long s is a capital S, and the Kelvin sign a small k.
        case .ignoringCase: Key(text: path.uppercased().lowercased())
        }
    }
}
