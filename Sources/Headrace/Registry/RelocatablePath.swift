/// The folders that a list of downloads tells its paths from, as they are called in this process.
struct RegistryBaseDirectories: Sendable, Hashable {
    private let home: String
    private let registry: String
    private let temporary: String
    /// Those that further paths are told from.
    fileprivate let used: [RelocatablePath.Base]

    /// Creates bases from absolute paths; an empty one, and the root, are no base.
    /// - Parameters:
    ///   - home: The user's home directory.
    ///   - registry: The directory that the list's own directory lies in.
    ///   - temporary: The directory for temporary files.
    ///   - used: Those that further paths are told from; others serve to read the paths of an earlier run.
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

    /// The path of a base without the slashes at both ends; empty where there is none.
    fileprivate subscript(base: RelocatablePath.Base) -> String {
        switch base {
        case .home: home
        case .registry: registry
        case .temporary: temporary
        }
    }
}

/// A path that still resolves after its home or container folder has moved.
///
/// All is compared by bytes: as a character, a slash with a combining mark after it is no slash.
struct RelocatablePath: Sendable, Hashable {
    /// A folder that paths are told from.
    enum Base: String, Sendable, Hashable, CaseIterable {
        /// The user's home directory.
        case home
        /// The directory that the list's own directory lies in.
        case registry
        /// The directory for temporary files.
        case temporary
    }

    /// The folder that the path is told from; nil for the root.
    let base: Base?
    /// The components below the base with a slash between any two; empty for the base itself.
    let path: String

    /// Tells an absolute path from the innermost base that it lies under.
    init(_ absolutePath: String, bases: RegistryBaseDirectories) {
        let path = Self.normalized(absolutePath)
        // What leads up again may leave the base that it seems to be under.
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

    /// The absolute path; nil where the base is not known here.
    func resolved(in bases: RegistryBaseDirectories) -> String? {
        guard let base else { return "/" + path }
        let folder = bases[base]
        guard !folder.isEmpty else { return nil }
        return path.isEmpty ? "/" + folder : "/\(folder)/\(path)"
    }

    private static let slash = UInt8(ascii: "/")

    /// Without the slashes at both ends, empty components and single dots.
    fileprivate static func normalized(_ path: String) -> String {
        let components = path.utf8.split(separator: slash).filter { !$0.elementsEqual(".".utf8) }
        return components.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "/")
    }

    private static func path(_ path: String, isUnder folder: String) -> Bool {
        let (path, folder) = (path.utf8, folder.utf8)
        return path.starts(with: folder) && path.dropFirst(folder.count).first ?? slash == slash
    }
}

/// In a journal: the base's name and a colon before the path, or a slash before one from the root.
extension RelocatablePath: LosslessStringConvertible {
    /// The path as it is in a journal.
    var description: String { base.map { "\($0.rawValue):\(path)" } ?? "/" + path }

    /// Reads a path; nil for one that was not written here, or leads out of its base.
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

    /// Whether there is a name between any two slashes.
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
