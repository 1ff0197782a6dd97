import Headrace

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What files are to be compared with.
struct Expectations: Sendable, Equatable {
    struct File: Sendable, Equatable {
        /// As it was given, or as a list or a document names it, seen from the current folder.
        let path: String
        /// That of the whole, where it is known.
        let checksum: Checksum?
        /// Those of its pieces, where they are known.
        let pieces: PieceHashes?
    }

    /// The files that are given, else all that the list and the documents name.
    let files: [File]

    init(_ options: GetOptions, _ list: ChecksumList?, _ documents: [Metalink.File]) throws(UsageError) {
        var paths = options.urls
        if paths.isEmpty {
            var seen: Set<String> = []
            paths = ((list?.entries.compactMap(\.fileName) ?? []) + documents.map(\.name))
                .filter { seen.insert($0).inserted }
            guard !paths.isEmpty else { throw UsageError("no file is given, and the list of checksums names none") }
        }
        let isAll = options.urls.isEmpty
        files = try paths.map { path throws(UsageError) in
            let name = isAll ? path : URL(filePath: path, directoryHint: .notDirectory).lastPathComponent
            let document = documents.first { $0.name == name }
            // With a document, the list need not have every file.
            let isListed = list?.entries.contains { $0.fileName == name || $0.fileName == nil } ?? false
            let own =
                document != nil && !isListed
                ? options.integrity.checksums : try options.integrity.checksums(forFileNamed: [name], in: list)
            let checksum = (own + (document?.checksums ?? [])).strongest
            guard checksum != nil || document?.pieces != nil else {
                throw UsageError(
                    "--metalink: \(document == nil ? "none of its files is named \(name)" : "\(name) has no checksum")"
                )
            }
            return File(path: path, checksum: checksum, pieces: document?.pieces)
        }
    }
}
