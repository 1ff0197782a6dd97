/// The directories that a registry's paths are relative to, with their paths in this process.
struct RegistryBaseDirectories: Sendable, Hashable {
    private let home: String
    private let registry: String
    private let temporary: String
    /// The bases that paths may be relative to when this process writes them.
    fileprivate let used: [RelocatablePath.Base]

    /// Creates bases from absolute paths; if a path is empty or the root, that base is unknown.
    /// - Parameters:
    ///   - home: The user's home directory.
    ///   - registry: The parent of the registry's directory.
    ///   - temporary: The directory for temporary files.
    ///   - used: The bases for paths that this process writes; saved paths are resolved with all bases.
    init(
        home: String,
        registry: String,
        temporary: String,
        used: [RelocatablePath.Base] = RelocatablePath.Base.allCases
    ) {
        self.used = used
        self.home = RelocatablePath.normalized(home)
        self.registry = RelocatablePath.normalized(registry)
        self.temporary = RelocatablePath.normalized(temporary)
    }

    /// The path of a base directory without leading and trailing slashes; empty if the base is unknown.
    fileprivate subscript(base: RelocatablePath.Base) -> String {
        switch base {
        case .home: home
        case .registry: registry
        case .temporary: temporary
        }
    }
}

/// A path that still resolves after the home directory or the app's container has moved.
///
/// Paths are compared by bytes: as a `Character`, a slash followed by a combining mark is not a slash.
struct RelocatablePath: Sendable, Hashable {
    /// A directory that paths are relative to.
    enum Base: String, Sendable, Hashable, CaseIterable {
        /// The user's home directory.
        case home
        /// The parent of the registry's directory.
        case registry
        /// The directory for temporary files.
        case temporary
    }

    /// The directory that the path is relative to; `nil` if the path is absolute.
    let base: Base?
    /// The path components below the base or the root, separated by slashes; empty for the base itself.
    let path: String

    /// Makes an absolute path relative to the innermost base that contains it; a path that is in no base or contains
    /// `..` stays absolute.
    init(_ absolutePath: String, bases: RegistryBaseDirectories) {
        let path = Self.normalized(absolutePath)
        // A path with `..` may leave the base that it seems to be in.
        let isPlain = !path.utf8.split(separator: Self.slash).contains { $0.elementsEqual("..".utf8) }
        var innermost: (base: Base, length: Int)?
        for base in bases.used where isPlain {
            let folder = bases[base]
            guard !folder.isEmpty, folder.utf8.count > innermost?.length ?? 0, Self.path(path, isUnder: folder) else {
                continue
            }
            innermost = (base, folder.utf8.count)
        }
        base = innermost?.base
        self.path = innermost.map { String(decoding: path.utf8.dropFirst($0.length + 1), as: UTF8.self) } ?? path
    }

    /// Returns the absolute path; `nil` if the base is unknown in this process.
    func resolved(in bases: RegistryBaseDirectories) -> String? {
        guard let base else { return "/" + path }
        let folder = bases[base]
        guard !folder.isEmpty else { return nil }
        return path.isEmpty ? "/" + folder : "/\(folder)/\(path)"
    }

    private static let slash = UInt8(ascii: "/")

    /// Removes leading and trailing slashes, empty components and single dots.
    fileprivate static func normalized(_ path: String) -> String {
        let components = path.utf8.split(separator: slash).filter { !$0.elementsEqual(".".utf8) }
        return components.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "/")
    }

    private static func path(_ path: String, isUnder folder: String) -> Bool {
        let (path, folder) = (path.utf8, folder.utf8)
        return path.starts(with: folder) && path.dropFirst(folder.count).first ?? slash == slash
    }
}

/// Represents a path as text in a journal: the name of the base, a colon and the path, or an absolute path.
extension RelocatablePath: LosslessStringConvertible {
    /// The path as it is written in a journal.
    var description: String { base.map { "\($0.rawValue):\(path)" } ?? "/" + path }

    /// Parses a path in the form of ``description``; returns `nil` if it is malformed or leads out of its base.
    init?(_ description: String) {
        let text = description.utf8
        if text.first == Self.slash {
            base = nil
        } else {
            let name = text.prefix { $0 != UInt8(ascii: ":") }
            guard name.endIndex < text.endIndex, let base = Base(rawValue: String(decoding: name, as: UTF8.self)) else {
                return nil
            }
            self.base = base
        }
        path = String(decoding: text.dropFirst(base.map { $0.rawValue.utf8.count + 1 } ?? 1), as: UTF8.self)
        guard path.isEmpty || Self.isPlain(path, allowsUp: base == nil) else { return nil }
    }

    /// Returns whether each component of a path is a valid name.
    ///
    /// A name is not empty and contains no NUL. It is not `.`, and it is `..` only if `allowsUp` is `true`.
    private static func isPlain(_ path: String, allowsUp: Bool) -> Bool {
        var rest = path.utf8[...]
        while true {
            let component = rest.prefix { $0 != slash }
            let isPlain = !component.isEmpty && !component.elementsEqual(".".utf8) && !component.contains(0)
            guard isPlain, allowsUp || !component.elementsEqual("..".utf8) else { return false }
            guard component.endIndex < rest.endIndex else { return true }
            rest = rest[component.endIndex...].dropFirst()
        }
    }
}
