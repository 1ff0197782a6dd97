package import HeadracePlatform

/// Generates alternative names for a finished file, such as `name (1).ext`, when its name is taken.
struct NumberedNames {
    private static let maxNumber = 10_000

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
        guard mayRename, number < Self.maxNumber else { return nil }
        number += 1
        return names.directory + "/" + SafeFileName.numbered(names.name(of: path), number)
    }
}

extension URL {
    /// Returns the URL of a file in the same directory with a number in its name, such as `name (1).ext`.
    package func numbered(_ number: Int) -> URL {
        let name = SafeFileName.numbered(lastPathComponent, number)
        return deletingLastPathComponent().appending(path: name, directoryHint: .notDirectory)
    }
}
