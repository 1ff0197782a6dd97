import Headrace
import HeadracePlatform

extension GetOptions {
    /// The path or the URL of a file such as `SHA256SUMS`.
    var checksumFile: String? { arguments.value(.checksumFile) }
    /// Whether the checksum file must be downloaded.
    var downloadsChecksumFile: Bool { checksumFile?.contains("://") == true }

    /// Returns the checksums of `--checksum` and, if there is a list, that of the file with one of these names in it.
    ///
    /// Throws if the list has no checksum for these names, or conflicting ones.
    func checksums(
        forFileNamed names: @autoclosure () -> [String],
        in list: ChecksumList?
    ) throws -> [Checksum] {
        guard let list, let checksumFile else { return checksums }
        let names = names()
        guard let checksum = list.checksum(forFileNamed: names) else {
            throw UsageError(
                "--checksum-file: \(checksumFile.withoutCredentials) has no checksum, or conflicting ones, for \(names.first ?? "")"
            )
        }
        return checksums + [checksum]
    }

    /// Reads the checksum file from disk or from its URL; returns `nil` if none was given.
    ///
    /// `isOnlyDownload` is set if the header fields are meant for the checksum file, since nothing else is downloaded.
    func readChecksumList(isOnlyDownload: Bool = false) async throws -> ChecksumList? {
        guard let checksumFile else { return nil }
        let name = checksumFile.withoutCredentials
        let path = downloadsChecksumFile ? URL(string: checksumFile)?.plainPath ?? "" : checksumFile
        if let function = Self.otherFunction(of: path) {
            throw UsageError(
                "--checksum-file: \(name): the name suggests \(function) checksums, which are not supported; "
                    + "use a SHA-2 file such as SHA256SUMS"
            )
        }
        guard downloadsChecksumFile else {
            return try Option.checksumFile.reading(name) { try ChecksumList(parsing: Files.read(checksumFile)) }
        }
        do {
            return try ChecksumList(parsing: try await fetch(checksumFile, isOnlyDownload))
        } catch let error as DownloadError {
            throw DownloadError(error.code, "--checksum-file: \(name): \(error.advisedMessage)", cause: error)
        }
    }

    /// Returns the unsupported hash function, BLAKE2 or BLAKE3, that the file's name contains; `nil` for other names.
    ///
    /// The checksums of these functions have the lengths of SHA-2 checksums, and could be mistaken for SHA-2.
    private static func otherFunction(of path: String) -> String? {
        let name = (path.split(separator: "/").last ?? "").lowercased()
        return [("b2sum", "BLAKE2"), ("blake2", "BLAKE2"), ("b3sum", "BLAKE3"), ("blake3", "BLAKE3")]
            .first { name.contains($0.0) }?.1
    }

    /// Downloads the checksum file from the URL `text` with the command's settings, and returns its content.
    private func fetch(_ text: String, _ isOnlyDownload: Bool) async throws -> Data {
        guard let url = URL(encoding: text) else {
            throw UsageError("--checksum-file: \(text.withoutCredentials) is not a URL")
        }
        // Header fields for the files' server, which may be secrets, are not sent to other servers.
        let first = urls.first.flatMap { try? Argument.url($0) }
        let isForServer = isOnlyDownload || first.map { Origin($0) == Origin(url) } ?? false
        var options = self
        if !isForServer { options.removeFields { !$0.isSentToAllOrigins } }
        var request = DownloadRequest(url, to: .directory(URL(filePath: "/")), headers: options.headers)
        options.applyHosts(to: &request)
        return try await Signals.cancelling { [configuration, headers = request.headers] in
            try await withDownloadManager(configuration) { manager in
                try await manager.data(from: url, headers: headers, maxBytes: ChecksumList.maxBytes)
            }
        }
    }
}
