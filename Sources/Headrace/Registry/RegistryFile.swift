import HeadracePlatform

/// A list of downloads on the disk, held by this manager alone until it is closed or the process ends.
///
/// All calls block: they belong on the blocking executor, and one caller makes them in turn. Files are their owner's only,
/// and no link is followed at their names.
final class RegistryFile: Sendable {
    private let lock: RegistryLock
    /// Held for the time of a call; nil once the file is closed.
    private let store: Locked<RegistryStore?>

    /// Takes the list of a directory, which is made where it is missing, and reads it.
    ///
    /// A journal that is mostly dead is written anew, as is one that is damaged, after a copy of it was kept.
    /// - Parameters:
    ///   - directory: The list's own directory; its parent has to exist.
    ///   - syncs: Whether each change outlives a power cut; without it, a compaction alone is synced.
    ///   - isRun: Whether the list's downloads run here, which others are told then.
    ///   - compaction: When the journal is written anew.
    ///   - calls: The file calls.
    /// - Returns: The list's file, the list as it was read, which is the caller's from now on, and what was found.
    /// - Throws: `busy` with a ``RegistryOwner`` as its cause where another manager has the list, and `fileSystem`,
    ///   `permission` or `diskFull` where it cannot be read or made, also where a later release wrote it; that one is
    ///   left as it is.
    static func open(
        _ directory: String,
        syncs: Bool,
        isRun: Bool = true,
        compaction: RegistryStore.Compaction = RegistryStore.Compaction(),
        calls: FileSystem
    ) throws(DownloadError) -> (file: RegistryFile, image: RegistrySnapshot, report: RegistryReport) {
        var directory = directory
        while directory.utf8.count > 1, directory.utf8.last == UInt8(ascii: "/") { directory.removeLast() }
        try calls.makeRegistryFolder(directory)
        let lock = try RegistryLock.take(in: directory, isRun: isRun, calls: calls)
        var image = RegistrySnapshot()
        var report = RegistryReport()
        do throws(DownloadError) {
            let store = try RegistryStore(
                in: directory,
                syncs: syncs,
                compaction: compaction,
                calls: calls,
                image: &image,
                report: &report
            )
            return (RegistryFile(lock, store), image, report)
        } catch {
            lock.release()
            throw error
        }
    }

    private init(_ lock: RegistryLock, _ store: RegistryStore) {
        self.lock = lock
        self.store = Locked(store)
    }

    /// Records changes, all or none.
    ///
    /// With `syncing`, and where the list syncs or `always` is set, they outlive a power cut on return, and so does all that
    /// was recorded before; else they outlive the process. Where it throws, none of them is recorded; they can be recorded
    /// again, together with others. A crash in between may leave the first of several changes.
    /// - Parameters:
    ///   - changes: What has changed, in order.
    ///   - syncing: Whether to wait for the disk.
    ///   - always: Whether that holds also where the list does not sync.
    /// - Returns: Whether the whole list is to go to ``replace(with:)``: it should where that is worth it, and it has
    ///   to where the changes are not recorded, after a sync that failed for one.
    /// - Throws: `diskFull`, `permission` or `fileSystem` where the disk refused, `invalidRequest` where a download holds
    ///   more than a list takes, and as ``check()`` does.
    func append(
        _ changes: some Collection<RegistryChange>,
        syncing: Bool = true,
        always: Bool = false
    ) throws(DownloadError) -> RegistryStore.Outcome {
        var outcome = RegistryStore.Outcome.recorded
        try withStore { store throws(DownloadError) in
            outcome = try store.append(changes, syncing: syncing, always: always)
        }
        return outcome
    }

    /// Writes the journal anew, always with syncs.
    ///
    /// The list may be ahead of what was recorded: changes that it has and that are recorded later do nothing then.
    /// - Parameter entries: All downloads of the list, in any order.
    /// - Throws: As ``append(_:syncing:always:)`` does; the journal can be read and goes on.
    func replace(with entries: some Sequence<RegistryEntry>) throws(DownloadError) {
        try withStore { store throws(DownloadError) in try store.replace(with: entries) }
    }

    /// Throws `fileSystem` with ``RegistryLoss`` as its cause where the directory is no more the one that was opened, and
    /// `shutDown` once the file is closed.
    func check() throws(DownloadError) {
        try withStore { _ in }
    }

    /// Gives the list free for other managers; does nothing the second time.
    func close() {
        guard var store = store.withLock({ $0.take() }) else { return }
        store.close()
        lock.release()
    }

    deinit {
        close()
    }

    private func withStore(_ body: (inout RegistryStore) throws(DownloadError) -> Void) throws(DownloadError) {
        try store.withLock { store throws(DownloadError) in
            guard var open = store.take() else { throw .shutDown() }
            defer { store = open }
            try lock.check()
            try body(&open)
        }
    }
}

extension FileSystem {
    /// Makes a folder of a list where it is missing, for this user alone; its name outlives a power cut.
    func makeRegistryFolder(_ path: String) throws(DownloadError) {
        do throws(SystemError) {
            guard try status(path) == nil else { return }
            try makeDirectory(path, mode: 0o700, syncs: true)
        } catch {
            throw .registry("The folder \(path) could not be made", error)
        }
    }
}

/// What opening a list came upon.
struct RegistryReport: Sendable, Equatable {
    /// What in the journal is not as it was written, or not of this release.
    var findings = RegistryDiagnostics()
    /// A copy of the journal as it was, where something in it was not understood and the journal was written anew.
    var unreadCopy: String?
}
