/// The further names that a finished file may get, as in `name (1).ext`.
struct FinalNames {
    private static let most = 10_000

    private let directory: String
    private let name: String
    private let mayRename: Bool
    private var number = 0

    init(_ path: String, _ names: DestinationNames, mayRename: Bool) {
        directory = names.directory
        name = names.name(of: path)
        self.mayRename = mayRename
    }

    mutating func next() -> String? {
        guard mayRename, number < Self.most else { return nil }
        number += 1
        return directory + "/" + SafeFileName.numbered(name, number)
    }
}
