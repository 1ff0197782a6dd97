#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

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
    ///   - compaction: When the journal is written anew.
    ///   - calls: The file calls.
    /// - Returns: The list's file, and what was read.
    /// - Throws: `busy` with a ``RegistryHolder`` as its cause where another manager has the list, and `fileSystem`,
    ///   `permission` or `diskFull` where it cannot be read or made, also where a later release wrote it; that one is
    ///   left as it is.
    static func open(
        _ directory: String,
        syncs: Bool,
        compaction: RegistryStore.Compaction = RegistryStore.Compaction(),
        calls: FileCalls = .system
    ) throws(DownloadError) -> (file: RegistryFile, report: RegistryReport) {
        var directory = directory
        while directory.utf8.count > 1, directory.utf8.last == UInt8(ascii: "/") { directory.removeLast() }
        try makeDirectory(directory, syncs: syncs, calls)
        let lock = try RegistryLock.take(in: directory, calls: calls)
        var report = RegistryReport()
        do throws(DownloadError) {
            let store = try RegistryStore(
                in: directory,
                syncs: syncs,
                compaction: compaction,
                calls: calls,
                report: &report
            )
            return (RegistryFile(lock, store), report)
        } catch {
            lock.release()
            throw error
        }
    }

    private init(_ lock: RegistryLock, _ store: RegistryStore) {
        self.lock = lock
        self.store = Locked(store)
    }

    /// The list as it was recorded; empty once the file is closed.
    var image: RegistryImage {
        store.withLock { $0?.image ?? RegistryImage() }
    }

    /// Records changes with one write, and with one sync where the list syncs; on return they are in ``image``.
    ///
    /// Where it throws, none of them is in ``image``; they can be recorded again, together with others. A crash in between
    /// may leave the first of several changes. After a failed sync the next call writes the whole list into a new file.
    /// - Throws: `diskFull`, `permission` or `fileSystem` where the disk refused, `invalidRequest` where a download holds
    ///   more than a list takes, `shutDown` once the file is closed.
    func append(_ changes: [RegistryChange]) throws(DownloadError) {
        try withStore { store throws(DownloadError) in try store.append(changes) }
    }

    /// Writes the journal anew unless nothing in it is dead.
    /// - Throws: As ``append(_:)`` does; the list stays readable.
    func compact() throws(DownloadError) {
        try withStore { store throws(DownloadError) in try store.compact() }
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
            try body(&open)
        }
    }

    private static func makeDirectory(_ path: String, syncs: Bool, _ calls: FileCalls) throws(DownloadError) {
        do throws(SystemError) {
            guard try calls.status(path) == nil else { return }
            try calls.createDirectory(path)
            let parent = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[..<$0]) } ?? "."
            if syncs { try calls.syncDirectory(parent) }
        } catch  where error.errno == EEXIST {
            // Another manager was faster.
        } catch {
            throw .registry("The folder \(path) could not be made", error)
        }
    }
}

/// What opening a list came upon.
struct RegistryReport: Sendable, Equatable {
    /// What in the journal is not as it was written, or not of this release.
    var findings = RegistryFindings()
    /// A copy of the journal as it was, where something in it was not understood and the journal was written anew.
    var unreadCopy: String?
}
