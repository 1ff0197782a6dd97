import Headrace
import HeadracePlatform

/// What files have to hash to, as the command line tells it.
struct ChecksumOptions: Sendable {
    let checksums: [Checksum]
    /// The path or the URL of a file such as `SHA256SUMS`.
    let list: String?

    init(_ arguments: ParsedArguments) throws(UsageError) {
        checksums = try arguments.all(.checksum).map { text throws(UsageError) in try ArgumentCheck.checksum(text) }
        list = arguments.value(.checksumFile)
    }

    /// The checksums of the file that has these names; none where nobody asks for any.
    func checksums(
        forFileNamed names: @autoclosure () -> [String],
        in list: ChecksumList?
    ) throws(UsageError) -> [Checksum] {
        guard let list, let place = self.list else { return checksums }
        let names = names()
        guard let checksum = list.checksum(forFileNamed: names) else {
            throw UsageError(
                "--checksum-file: \(place.withoutCredentials) has no checksum, or several that differ, for \(names.first ?? "")"
            )
        }
        return checksums + [checksum]
    }
}

extension GetOptions {
    /// Reads the file of checksums from the disk or from its URL; nil where there is none.
    func readChecksumList() async throws -> ChecksumList? {
        guard let place = integrity.list else { return nil }
        let name = place.withoutCredentials
        let isRemote = place.contains("://")
        let path = isRemote ? URL(string: place)?.plainPath ?? "" : place
        if let function = Self.otherFunction(of: path) {
            throw UsageError(
                "--checksum-file: \(name): by its name it has checksums of \(function), which are not computed here; "
                    + "take a list of SHA-2, such as SHA256SUMS"
            )
        }
        do {
            return try ChecksumList(parsing: isRemote ? try await fetch(place) : try Files.read(place))
        } catch let error as Files.Failure {
            throw UsageError("--checksum-file: \(name): \(error.reason)")
        } catch let error as DownloadError where !isRemote {
            throw UsageError("--checksum-file: \(name): \(error.message)")
        } catch let error as DownloadError {
            throw DownloadError(error.code, "--checksum-file: \(name): \(error.advisedMessage)", cause: error)
        }
    }

    /// The hash function that a list has its name from, where its checksums are as long as those of SHA-2 and are none.
    private static func otherFunction(of path: String) -> String? {
        let name = (path.split(separator: "/").last ?? "").lowercased()
        return [("b2sum", "BLAKE2"), ("blake2", "BLAKE2"), ("b3sum", "BLAKE3"), ("blake3", "BLAKE3")]
            .first { name.contains($0.0) }?.1
    }

    /// Fetches a small file to a temporary directory, with the settings of the other downloads.
    private func fetch(_ text: String) async throws -> [UInt8] {
        guard let url = URL(string: text) else { throw UsageError("--checksum-file: it is not a URL") }
        var configuration = configuration
        configuration.registryDirectory = nil
        configuration.durability = .none
        configuration.maxFileSize = Int64(ChecksumList.maxBytes)
        // What is meant for the server of the files is not for another one.
        let isSameServer = urls.first.flatMap { URL(string: $0) }.map { Origin($0) == Origin(url) } ?? false
        let headers = isSameServer ? headers : []
        return try await withTemporaryFolder { [configuration] folder in
            let request = DownloadRequest(url, to: .file(folder.appending(path: "checksums")), headers: headers)
            return try await withDownloadManager(configuration) { manager in
                let file = try await manager.download(request).value
                return try Files.read(file.plainPath)
            }
        }
    }
}
