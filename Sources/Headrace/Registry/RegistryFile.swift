import HeadracePlatform

/// The files of a queue on the disk, owned by one manager until they are closed or the process ends.
///
/// All calls block: make them one at a time, on the blocking executor. Other users cannot access the files, and
/// symbolic links are not followed.
final class RegistryFile: Sendable {
    /// How to open a registry.
    struct Options {
        /// Whether appends with `syncing` are synced, so that their changes survive a power cut.
        ///
        /// If `false`, an append is synced only if it also has `always`. A rewritten journal is always synced.
        var syncs: Bool
        /// Whether this process runs the queue's downloads; if so, its ID is written to the lock file.
        var isRun = true
        /// The conditions under which the journal is rewritten.
        var compaction = RegistryStore.Compaction()
    }

    private let lock: RegistryLock
    /// The store that performs the calls, locked during each; `nil` once the file is closed.
    private let store: Locked<RegistryStore?>

    /// Takes the lock of the registry in a directory, which is created if it is missing, and reads the queue.
    ///
    /// The journal is rewritten if it is missing or damaged, lacks the numbers of downloads, or has mostly records that
    /// later ones have replaced. A damaged journal is copied first.
    /// - Parameters:
    ///   - directory: The registry's directory; its parent must exist.
    ///   - options: How to open it.
    ///   - calls: The file system.
    /// - Returns: The registry's file, the queue as read, and the problems found. The caller maintains the queue.
    /// - Throws: `busy` with a ``RegistryOwner`` as its cause if another manager owns the registry; `fileSystem`,
    ///   `permission` or `diskFull` if the registry cannot be locked, read or created, or was written by a later
    ///   release, whose files are left unchanged.
    static func open(
        _ directory: String,
        _ options: Options,
        calls: FileSystem
    ) throws(DownloadError) -> (file: RegistryFile, snapshot: RegistrySnapshot, report: RegistryReport) {
        var directory = directory
        while directory.utf8.count > 1, directory.utf8.last == UInt8(ascii: "/") { directory.removeLast() }
        try calls.makeRegistryFolder(directory)
        let lock = try RegistryLock.take(in: directory, isRun: options.isRun, calls: calls)
        var snapshot = RegistrySnapshot()
        var report = RegistryReport()
        do throws(DownloadError) {
            let store = try RegistryStore(in: directory, options, calls: calls, snapshot: &snapshot, report: &report)
            return (RegistryFile(lock, store), snapshot, report)
        } catch {
            lock.release()
            throw error
        }
    }

    private init(_ lock: RegistryLock, _ store: RegistryStore) {
        self.lock = lock
        self.store = Locked(store, rank: .registryFile)
    }

    /// Appends changes to the journal: either all of them or, after an error, none.
    ///
    /// Recorded changes survive the end of the process. If the call has synced the journal, these and all earlier
    /// changes survive a power cut too. If the call throws, the caller may record the changes again. After a crash
    /// during the call, the journal may contain only the first of the changes.
    /// - Parameters:
    ///   - changes: The changes, in order.
    ///   - syncing: Whether to sync the journal. Has no effect for a queue without ``Options/syncs``.
    ///   - always: Whether `syncing` has an effect even without ``Options/syncs``.
    ///   - live: The number of downloads in the queue, including these changes.
    /// - Returns: Whether the changes were recorded, and whether the caller should call ``replace(with:)`` with all
    ///   downloads of the queue. The caller must do so if the changes were not recorded, for example after a failed
    ///   sync.
    /// - Throws: `diskFull`, `permission` or `fileSystem` if the write fails, `invalidRequest` if a download takes more
    ///   bytes than an entry may have, and the errors of ``check()``.
    func append(
        _ changes: some Collection<RegistryChange>,
        syncing: Bool = true,
        always: Bool = false,
        live: Int
    ) throws(DownloadError) -> RegistryStore.Outcome {
        var outcome = RegistryStore.Outcome.recorded
        try withStore { store throws(DownloadError) in
            outcome = try store.append(changes, syncing: syncing, always: always, live: live)
        }
        return outcome
    }

    /// Rewrites the journal, and always syncs it.
    ///
    /// The entries may include changes that have not been appended yet; appending them later does no harm.
    /// - Parameter entries: All downloads of the queue, in any order.
    /// - Throws: The errors of ``append(_:syncing:always:live:)``; the old journal or the new one remains in use.
    func replace(with entries: some Sequence<RegistryEntry>) throws(DownloadError) {
        try withStore { store throws(DownloadError) in try store.replace(with: entries) }
    }

    /// Throws `fileSystem` with ``RegistryLoss`` as its cause if the lock file has lost its path, usually because the
    /// directory was removed, moved or replaced; throws `shutDown` after ``close()``.
    func check() throws(DownloadError) {
        try withStore { _ in }
    }

    /// Closes the journal and releases the registry for other managers; a second call does nothing.
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
    /// Creates a registry's folder, or its folder of commands, if nothing has this path; only this user can access the
    /// new folder, whose name is synced.
    func makeRegistryFolder(_ path: String) throws(DownloadError) {
        try DownloadError.registry("The folder \(path) could not be created") { () throws(SystemError) in
            guard try status(path) == nil else { return }
            try makeDirectory(path, mode: 0o700, syncs: true)
        }
    }
}

/// The problems found while a registry was opened.
struct RegistryReport: Sendable, Equatable {
    /// The problems in the journal.
    var findings = RegistryDiagnostics()
    /// The path of the copy of a journal with unreadable parts, made before the journal was rewritten.
    ///
    /// `nil` if all parts were readable, or if the copy failed.
    var unreadCopy: String?
}
