public import HeadracePlatform

/// A list of files with their sources and checksums (Metalink 4, RFC 5854).
///
///     let metalink = try Metalink(parsing: bytes)
///     for file in metalink.files {
///         if let request = file.request(to: folder) { try await manager.download(request) }
///     }
///
/// A document is untrusted: file names are reduced to one safe component, document types and entities are rejected, and
/// sizes and counts are limited.
public struct Metalink: Sendable, Hashable {
    /// A file that the document describes (RFC 5854, section 4.1.2).
    public struct File: Sendable, Hashable {
        /// The name, made safe: the last component of the path in the document, or a placeholder such as `unnamed (1)`
        /// if that name cannot be used or another file has it.
        public internal(set) var name: String
        /// The size in bytes, if the document contains it.
        public internal(set) var size: Int64?
        /// The checksums of the whole file, for the supported hash functions.
        public internal(set) var checksums: [Checksum] = []
        /// The checksums of the file's pieces, for the strongest supported hash function; `nil` if there are none.
        public internal(set) var pieces: PieceHashes?
        /// The http and https sources in order of preference, at most 65, without those that contain a user or a
        /// password.
        public internal(set) var urls: [URL] = []

        /// The reason why this file cannot be downloaded, such as `its size is malformed`; `nil` if its description is
        /// valid.
        ///
        /// The other files of the document are not affected.
        public internal(set) var problem: String?

        /// Returns a request for the file; `nil` if it has a ``problem`` or no source.
        ///
        /// The request includes the size and all checksums, which verify the downloaded file. Because the document
        /// chose the name, an existing file is kept, and the new one gets an unused name.
        /// - Parameter directory: The directory to save the file in; created if it does not exist.
        /// - Returns: A request for the first source, with the others as its mirrors.
        public func request(to directory: URL) -> DownloadRequest? {
            guard problem == nil, let first = urls.first else { return nil }
            let place = directory.appending(path: name, directoryHint: .notDirectory)
            var request = DownloadRequest(first, to: .file(place), conflictPolicy: .rename)
            request.mirrors = Array(urls.dropFirst())
            request.expectedSize = size
            request.checksums = checksums
            request.pieceHashes = pieces
            return request
        }
    }

    /// The maximum size of a document in bytes.
    public static let maxBytes = 16 << 20
    /// The maximum number of files in a document.
    public static let maxFiles = 10_000
    /// The maximum number of pieces of all files in a document.
    public static let maxPieces = 1 << 18

    /// The files, in the order of the document.
    public let files: [File]

    /// Parses a Metalink 4 document.
    /// - Parameter bytes: The document, in UTF-8.
    /// - Throws: `invalidRequest` if the document is malformed, exceeds a limit, contains no files, or is not
    ///   Metalink 4. A file with an invalid description has a ``File/problem`` instead.
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
