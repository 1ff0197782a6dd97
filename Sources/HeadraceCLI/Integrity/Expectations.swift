import Headrace
import HeadracePlatform

struct Expectations: Sendable, Equatable {
    struct File: Sendable, Equatable {
        /// The file's path, from the command line, a checksum file or a document; relative to the current directory.
        let path: String
        /// The expected properties, from all options.
        let verification: FileVerification
        let document: Metalink.File?

        var name: String { URL(givenPath: path, .notDirectory).lastPathComponent }
    }

    /// The files to verify: the operands, or if there are none, all files in the checksum file and the documents.
    let files: [File]

    init(_ options: GetOptions, _ list: ChecksumList?, _ documents: [Metalink.File]) throws {
        var paths = options.urls
        if paths.isEmpty {
            // Compared as bytes: names that are equal as Unicode text may belong to different files.
            var seen: Set<[UInt8]> = []
            paths = ((list?.entries.compactMap(\.fileName) ?? []) + documents.map(\.name))
                .filter { seen.insert(Array($0.utf8)).inserted }
            guard !paths.isEmpty else { throw UsageError("no file given, and the checksum file lists none") }
        }
        let isAll = options.urls.isEmpty
        files = try paths.map { path in
            // Without given files, the path is the listed name itself.
            let name = isAll ? path : URL(givenPath: path, .notDirectory).lastPathComponent
            // If a document describes the file, the checksum file need not list it.
            let isListed = list?.lists(path, inAnyFolder: !isAll) ?? false
            let document =
                isAll || isListed || paths.count > 1
                ? documents.file(named: name) : documents.file(matching: name)
            let own =
                document != nil && !isListed
                ? options.checksums : try options.checksums(forFileNamed: [path], in: list)
            var verification = document.map(FileVerification.init) ?? FileVerification()
            verification.checksums = own + verification.checksums
            if let algorithm = verification.checksums.contradiction {
                throw UsageError("\(path): two different \(algorithm) checksums were given")
            }
            guard !verification.checksums.isEmpty || verification.pieceHashes != nil else {
                throw UsageError(
                    "--metalink: \(document == nil ? "no file named \(name) is described" : "\(name) has no checksum")"
                )
            }
            return File(path: path, verification: verification, document: document)
        }
    }
}

extension [Metalink.File] {
    /// Returns the file with this name, or else the only file of the array; `nil` if no name matches and the array does
    /// not have exactly one file.
    func file(matching name: String) -> Metalink.File? {
        file(named: name) ?? (count == 1 ? first : nil)
    }

    fileprivate func file(named name: String) -> Metalink.File? {
        first { $0.name.utf8.elementsEqual(name.utf8) }
    }
}

extension Metalink.File {
    /// Prints that the file `other` is compared with this document entry, unless their names are equal.
    func reportName(unless other: String) {
        guard other != name else { return }
        Console.error.note("--metalink: comparing \(other) with \(name), the only file described")
    }
}
