import HeadracePlatform

/// How files go that nobody wants any more.
extension DownloadQueue {
    /// Removes files once the list on the disk tells of it, and then tells what became of the downloads; blocks.
    ///
    /// A crash in between leaves files without a download, and no download without its bytes. Where the list cannot be
    /// written the files stay.
    func carryOut(_ removals: Removals) {
        do throws(DownloadError) {
            try flush()
            for removal in removals.items { removeFiles(of: removal) }
        } catch {
            // Those that fill the disk of the list go all the same: nothing else would ever make room for it.
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
        // One that was there before is not this download's, nor another one that has the name now.
        guard let file = removal.file, !file.wasThere,
            let status = try? environment.files.status(file.url.filePath), file.stamp == FileStamp(status)
        else { return }
        try? environment.files.remove(file.url.filePath)
    }

    /// Whether the files are on the file system of the list.
    private func sharesDisk(_ removal: Removal) -> Bool {
        guard let directory = environment.configuration.registryDirectory else { return false }
        let file = removal.file?.url.filePath ?? removal.record.names.partialPath
        let journal = "\(directory.filePath)/\(RegistryStore.fileName)"
        let files = environment.files
        return (try? files.status(file))?.device == (try? files.status(journal))?.device
    }
}
