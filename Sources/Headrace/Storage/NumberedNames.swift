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
