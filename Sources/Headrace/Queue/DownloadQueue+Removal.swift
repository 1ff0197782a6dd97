import HeadracePlatform

/// Deletes the files of removed and cancelled downloads.
extension DownloadQueue {
    /// Writes the removals to the journal, then deletes the files and publishes the new states; blocks.
    ///
    /// A crash before the deletion leaves files without a download, but never a download without its bytes. If the
    /// journal cannot be written, the files are retained, unless they are on the journal's disk and it is full.
    func carryOut(_ removals: Removals) {
        do throws(DownloadError) {
            try flush()
            for removal in removals.items { removeFiles(of: removal) }
        } catch {
            // Files on the journal's full disk are deleted anyway: nothing else would make room for the journal.
            let filling = error.code == .diskFull ? removals.items.filter(sharesDisk) : []
            for removal in filling { removeFiles(of: removal) }
            if filling.isEmpty { observers.publish(.registryFailed(error)) } else { flushOrReport() }
        }
        ended(removals)
    }

    private func removeFiles(of removal: Removal) {
        if removal.partial {
            var session = PartialDownload(removal.record, environment)
            session.removeLeftovers()
            removal.record.status.forgetBytes()
        }
        // A file that existed before the download, or has replaced the downloaded file since, is not deleted.
        guard let file = removal.file, !file.wasThere,
            let status = try? environment.files.status(file.url.filePath), file.stamp == FileStamp(status)
        else { return }
        try? environment.files.remove(file.url.filePath)
    }

    /// Whether the files to delete are on the same file system as the journal.
    private func sharesDisk(_ removal: Removal) -> Bool {
        guard let directory = environment.configuration.registryDirectory else { return false }
        let file = removal.file?.url.filePath ?? removal.record.names.partialPath
        let journal = "\(directory.filePath)/\(RegistryStore.fileName)"
        let files = environment.files
        return (try? files.status(file))?.device == (try? files.status(journal))?.device
    }
}
