#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The file that receives a download's bytes, under a name of its own beside the destination.
///
/// It gets the final name by ``finish(as:policy:)`` only. All calls block: they belong on the blocking executor.
struct PartialFile: Sendable {
    let path: String
    private let file: Int32
    private let calls: FileCalls

    /// Creates the file; `name` is the final name as planned.
    init(
        for name: String,
        in directory: String,
        id: Download.ID,
        calls: FileCalls
    ) throws(DownloadError) {
        path = directory + "/" + SafeFileName.truncated(name, to: SafeFileName.maxBytes, suffix: ".\(id).part")
        self.calls = calls
        do {
            file = try calls.create(path)
        } catch {
            throw .storage("The file \(path) could not be created", error)
        }
    }

    /// Throws `diskFull` unless so many more bytes fit on the file system.
    func requireSpace(for count: Int64) throws(DownloadError) {
        // Not every file system tells; then the write will.
        guard let free = try? calls.freeSpace(file), free < count else { return }
        throw DownloadError(
            .diskFull,
            "\(path) needs \(count) bytes, and the disk has \(free) left. Make room and start again."
        )
    }

    /// Writes all bytes at their place.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(DownloadError) {
        var rest = bytes
        var offset = offset
        while !rest.isEmpty {
            do {
                let count = try calls.write(file, rest, offset)
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                offset += Int64(count)
            } catch {
                throw .storage("\(path) could not be written", error)
            }
        }
    }

    /// Gives the complete file its final name, and returns that name.
    func finish(as path: String, policy: DownloadRequest.ConflictPolicy) throws(DownloadError) -> String {
        do throws(SystemError) {
            try calls.setMode(file, FileCalls.newFileMode)
            guard policy != .overwrite else {
                try calls.replace(self.path, path)
                return path
            }
            return try moveToFreeName(path, mayRename: policy == .rename)
        } catch  where error.errno == EEXIST {
            throw DownloadError(.fileExists, "\(path) exists already. The download is kept as \(self.path).")
        } catch {
            throw .storage("\(self.path) could not be renamed to \(path)", error)
        }
    }

    private func moveToFreeName(_ path: String, mayRename: Bool) throws(SystemError) -> String {
        let slash = path.lastIndex(of: "/") ?? path.startIndex
        let name = String(path[slash...].dropFirst())
        var candidate = path
        var number = 0
        while true {
            do throws(SystemError) {
                try calls.move(self.path, candidate)
                return candidate
            } catch  where error.errno == EEXIST && mayRename && number < 10_000 {
                number += 1
                candidate = path[...slash] + SafeFileName.numbered(name, number)
            }
        }
    }

    func close() {
        // Everything that matters was checked before; a failure here has nobody to tell.
        try? calls.close(file)
    }

    func remove() {
        try? calls.remove(path)
    }
}

extension DownloadError {
    /// A failed file call; `what` names the file and ends without a full stop.
    static func storage(_ what: String, _ error: SystemError) -> DownloadError {
        let (code, advice): (Code, String) =
            switch error.errno {
            case ENOSPC, EDQUOT: (.diskFull, " Make room and start again.")
            case EACCES, EPERM, EROFS: (.permission, "")
            default: (.fileSystem, "")
            }
        return DownloadError(code, "\(what): \(error).\(advice)", cause: error)
    }
}
