import Headrace
import HeadracePlatform

/// What files are to be compared with.
struct Expectations: Sendable, Equatable {
    struct File: Sendable, Equatable {
        /// As it was given, or as a list or a document names it, seen from the current folder.
        let path: String
        /// That of the whole, where it is known.
        let checksum: Checksum?
        /// What documents tell of it.
        let document: Metalink.File?

        /// The checksums of its pieces, where they are known.
        var pieces: PieceHashes? { document?.pieces }
        /// The last component of its path.
        var name: String { URL(givenPath: path, .notDirectory).lastPathComponent }
    }

    /// The files that are given, else all that the list and the documents name.
    let files: [File]

    init(_ options: GetOptions, _ list: ChecksumList?, _ documents: [Metalink.File]) throws(UsageError) {
        var paths = options.urls
        if paths.isEmpty {
            // Names that are equal as texts may be those of two files.
            var seen: Set<[UInt8]> = []
            paths = ((list?.entries.compactMap(\.fileName) ?? []) + documents.map(\.name))
                .filter { seen.insert(Array($0.utf8)).inserted }
            guard !paths.isEmpty else { throw UsageError("no file is given, and the list of checksums names none") }
        }
        let isAll = options.urls.isEmpty
        files = try paths.map { path throws(UsageError) in
            // What is taken from a list or a document has the name that it has there.
            let name = isAll ? path : URL(givenPath: path, .notDirectory).lastPathComponent
            // With a document, the list need not have every file.
            let isListed = list?.lists(path, inAnyFolder: !isAll) ?? false
            let document =
                isAll || isListed || paths.count > 1
                ? documents.file(named: name) : documents.file(meantBy: name)
            let own =
                document != nil && !isListed
                ? options.integrity.checksums : try options.integrity.checksums(forFileNamed: [path], in: list)
            let given = own + (document?.checksums ?? [])
            if let algorithm = given.contradiction {
                throw UsageError("\(path): it is to have two \(algorithm) checksums that differ")
            }
            let checksum = given.strongest
            guard checksum != nil || document?.pieces != nil else {
                throw UsageError(
                    "--metalink: \(document == nil ? "none of its files is named \(name)" : "\(name) has no checksum")"
                )
            }
            return File(path: path, checksum: checksum, document: document)
        }
    }
}

extension [Metalink.File] {
    /// The file of the documents that somebody means by a name: the one that is called so, else the only one there is.
    func file(meantBy name: String) -> Metalink.File? {
        file(named: name) ?? (count == 1 ? first : nil)
    }

    /// The file of the documents that is called so, byte for byte.
    fileprivate func file(named name: String) -> Metalink.File? {
        first { $0.name.utf8.elementsEqual(name.utf8) }
    }
}

extension Metalink.File {
    /// Says that a file of another name is taken for this one.
    func reportName(unless other: String) {
        guard other != name else { return }
        Console.error.write("headrace: --metalink: \(other) is taken for \(name), its only file".printable + "\n")
    }
}
