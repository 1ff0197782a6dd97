package import HeadracePlatform

/// The further names that a finished file may get, as in `name (1).ext`.
struct NumberedNames {
    private static let most = 10_000

    private let path: String
    private let names: DestinationPaths
    private let mayRename: Bool
    private var number = 0

    init(_ path: String, _ names: DestinationPaths, mayRename: Bool) {
        self.path = path
        self.names = names
        self.mayRename = mayRename
    }

    mutating func next() -> String? {
        guard mayRename, number < Self.most else { return nil }
        number += 1
        return names.directory + "/" + SafeFileName.numbered(names.name(of: path), number)
    }
}

extension URL {
    /// The file beside this one that has its name with a number, as in `name (1).ext`.
    package func numbered(_ number: Int) -> URL {
        let name = SafeFileName.numbered(lastPathComponent, number)
        return deletingLastPathComponent().appending(path: name, directoryHint: .notDirectory)
    }
}
