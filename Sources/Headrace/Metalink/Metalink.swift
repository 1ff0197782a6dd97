public import HeadracePlatform

/// A list of files with their sources and checksums (Metalink 4, RFC 5854).
///
///     let metalink = try Metalink(parsing: bytes)
///     for file in metalink.files {
///         if let request = file.request(to: folder) { try await manager.download(request) }
///     }
///
/// A document is not trusted: a file's name is one safe component, whatever path it has there; document types and entities
/// are refused; sizes and numbers have bounds.
public struct Metalink: Sendable, Hashable {
    /// A file (RFC 5854, section 4.1.2).
    public struct File: Sendable, Hashable {
        /// The name, made safe: the last component of the path that the document has.
        public internal(set) var name: String
        /// The size in bytes, where the document tells it.
        public internal(set) var size: Int64?
        /// The checksums of the whole file, of the hash functions that are known.
        public internal(set) var checksums: [Checksum] = []
        /// The checksums of pieces of the file, of the strongest function that the document has them of.
        public internal(set) var pieces: PieceHashes?
        /// The http and https sources, without those that have a user or a password, in the order in which to ask them.
        public internal(set) var urls: [URL] = []

        /// What is wrong with the description of this file, which then cannot be fetched; `nil` if nothing is.
        ///
        /// The other files of the document are not affected.
        public internal(set) var problem: String?

        /// A request for the file; `nil` if it has a ``problem`` or no source.
        ///
        /// The size and the checksums of the whole and of the pieces are in it, and with them what proves the file in the end.
        /// - Parameter directory: A directory that exists.
        /// - Returns: A request for the first source, with the others as its mirrors.
        public func request(to directory: URL) -> DownloadRequest? {
            guard problem == nil, let first = urls.first else { return nil }
            let place = directory.appending(path: name, directoryHint: .notDirectory)
            var request = DownloadRequest(first, to: .file(place))
            request.mirrors = Array(urls.dropFirst())
            request.expectedSize = size
            request.checksums = checksums
            request.pieceHashes = pieces
            return request
        }
    }

    /// The most bytes that a document has.
    public static let maxBytes = 16 << 20
    /// The most files of a document.
    public static let maxFiles = 10_000
    /// The most pieces of all files of a document.
    public static let maxPieces = 1 << 18

    /// The files, in the order of the document.
    public let files: [File]

    /// Reads a document.
    /// - Parameter bytes: The document, in UTF-8.
    /// - Throws: `invalidRequest` with what is wrong, for a document that is malformed, too large, or of another kind or version.
    ///   A file that is described wrongly has a ``File/problem`` instead.
    public init(parsing bytes: [UInt8]) throws(DownloadError) {
        guard bytes.count <= Self.maxBytes else {
            throw DownloadError(.invalidRequest, "The Metalink document has more than \(Self.maxBytes) bytes.")
        }
        do throws(XMLReader.Failure) {
            var reader = try MetalinkReader(bytes)
            files = try reader.read()
        } catch {
            throw DownloadError(
                .invalidRequest,
                "The Metalink document cannot be used: \(error.reason) (at byte \(error.offset))."
            )
        }
    }
}
