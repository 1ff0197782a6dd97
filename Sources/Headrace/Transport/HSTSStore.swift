import HeadracePlatform

/// The HSTS policies that a manager knows; can load them from a file and save them to it.
final class HSTSStore: Sendable {
    private let policies = Locked(HSTSPolicies())

    /// Stores the policy that a response sets.
    func store(_ head: ResponseHead) {
        guard let field = head.values("strict-transport-security").first else { return }
        policies.withLock { $0.store(field, from: head.url, at: WallTime.seconds()) }
    }

    /// Returns the https URL that replaces an http URL of a known host; otherwise `nil`.
    func upgraded(_ url: URL) -> URL? {
        guard !url.isHTTPS else { return nil }
        // Called for each request: without a policy, no clock is read and no URL is parsed.
        return policies.withLock { $0.count == 0 ? nil : $0.upgraded(url, at: WallTime.seconds()) }
    }

    /// Replaces the policies with those in the file.
    ///
    /// If the file does not exist, creates an empty one. Thus a path that cannot be written is detected early.
    /// - Throws: `invalidRequest` if the file is not an HSTS file, or the error if it cannot be read or created.
    func load(_ file: URL, _ files: FileSystem) throws(DownloadError) {
        let path = Self.path(of: file)
        if let read = try Self.read(path, files) {
            policies.withLock { $0 = read }
        } else {
            try Self.write(HSTSPolicies(), to: path, files)
        }
    }

    /// Merges the policies that responses have changed since the last save into the file.
    ///
    /// Policies that other processes have saved there remain until they expire. Does nothing if no policy has changed.
    func save(to file: URL, _ files: FileSystem) throws(DownloadError) {
        let policies = policies.withLock { $0 }
        guard policies.hasChanges else { return }
        let path = Self.path(of: file)
        var saved = try Self.read(path, files) ?? HSTSPolicies()
        saved.adoptChanges(of: policies, at: WallTime.seconds())
        try Self.write(saved, to: path, files)
        self.policies.withLock { $0.saved(policies) }
    }

    /// Returns the path without symbolic links, so that saving replaces the file and not a link to it.
    private static func path(of file: URL) -> String { file.resolvingSymlinksInPath().filePath }

    private static func read(_ path: String, _ files: FileSystem) throws(DownloadError) -> HSTSPolicies? {
        let what = "The HSTS file \(path) could not be read"
        let status = try DownloadError.storage(what) { () throws(SystemError) in try files.status(path) }
        guard let status else { return nil }
        do throws(DownloadError) {
            guard status.kind == .regular else { throw DownloadError(.invalidRequest, "It is not a regular file.") }
            let limit = HSTSPolicies.maxFileBytes
            let bytes = try DownloadError.storage(what) { () throws(SystemError) in try files.read(path, limit + 1) }
            guard bytes.count <= limit else {
                throw DownloadError(.invalidRequest, "It is larger than \(limit) bytes.")
            }
            return try HSTSPolicies(parsing: bytes)
        } catch  where error.code == .invalidRequest {
            throw DownloadError(.invalidRequest, "\(path) is no HSTS file. \(error.message)")
        }
    }

    private static func write(_ policies: HSTSPolicies, to path: String, _ files: FileSystem) throws(DownloadError) {
        try DownloadError.storage("The HSTS file \(path) could not be written") { () throws(SystemError) in
            // Several processes may save at the same time.
            let new = "\(path).\(RandomSource.system.next().hexadecimal)"
            try files.replaceFile(path, by: new, with: Array(policies.encoded.utf8), syncing: .nothing)
        }
    }
}
