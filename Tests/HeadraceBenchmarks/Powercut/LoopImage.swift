import HeadracePlatform

/// An ext4 file system in a file, mounted through a loop device.
struct LoopImage: Sendable {
    let path: String
    let mountPoint: String
    private let scratch: String

    /// Creates the image and its mount point; throws if a tool is missing.
    init(named name: String, size: Int, in workspace: Workspace) throws {
        path = workspace.scratch + "/" + name + ".img"
        mountPoint = workspace.root + "/" + name
        scratch = workspace.scratch
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw BenchmarkError.system("cannot create \(path)") }
        defer { close(file) }
        guard ftruncate(file, off_t(size)) == 0 else { throw BenchmarkError.system("cannot size \(path)") }
        try FileSystem.makeDirectory(mountPoint)
        // No lazy initialisation in the background, which a disk in use has completed long ago.
        try run("mkfs.ext4", ["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", path])
    }

    func mount() throws {
        try run("mount", ["-t", "ext4", "-o", "loop", path, mountPoint])
    }

    /// Unmounts, which also releases the loop device.
    func unmount() throws {
        var complaint: (any Error)?
        // A process that was just killed may keep a file open for a moment.
        for _ in 0..<100 {
            do { return try run("umount", [mountPoint]) } catch { complaint = error }
            usleep(20_000)
        }
        throw complaint ?? BenchmarkError("cannot unmount \(mountPoint)")
    }

    /// Stops the file system at once: data that is not on the disk yet never gets there, including the journal.
    func cutPower() throws {
        let directory = open(mountPoint, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw BenchmarkError.system("cannot open \(mountPoint)") }
        defer { close(directory) }
        let shutDown: UInt = 0x8004_587d  // EXT4_IOC_SHUTDOWN
        var withoutLog: UInt32 = 2  // EXT4_GOING_FLAGS_NOLOGFLUSH
        guard ioctl(directory, shutDown, &withoutLog) == 0 else {
            throw BenchmarkError.system("cannot shut down \(mountPoint)")
        }
    }

    /// Unmounts lazily for the clean-up, even if a process still uses the file system.
    func detach() {
        try? run("umount", ["-l", mountPoint])
    }

    private func run(_ name: String, _ arguments: [String]) throws {
        guard let executable = FileSystem.find(name) else { throw BenchmarkError("there is no \(name)") }
        let log = scratch + "/mount.log"
        let process = try ChildProcess.spawn(
            Command(executable: executable, arguments: arguments),
            home: scratch,
            log: log
        )
        // Not interruptible: an interrupt just after mounting would leave the mount behind.
        while true {
            if let exit = process.poll() {
                guard let failure = exit.failure else { return }
                throw BenchmarkError("\(name): \(failure): \(FileSystem.text(of: log))")
            }
            usleep(1_000)
        }
    }
}
