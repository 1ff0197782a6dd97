import HeadracePlatform

/// An ext4 file system in a file, mounted through a loop device.
struct LoopImage: Sendable {
    let path: String
    let mountPoint: String
    private let scratch: String

    /// Makes the image and its mount point; throws where the machine has no tools for it.
    init(named name: String, size: Int, in workspace: Workspace) throws {
        path = workspace.scratch + "/" + name + ".img"
        mountPoint = workspace.root + "/" + name
        scratch = workspace.scratch
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw BenchmarkError.system("cannot create \(path)") }
        defer { close(file) }
        guard ftruncate(file, off_t(size)) == 0 else { throw BenchmarkError.system("cannot size \(path)") }
        try FileSystem.makeDirectory(mountPoint)
        // Nothing may go on in the background that a real disk would have behind it.
        try run("mkfs.ext4", ["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", path])
    }

    func mount() throws {
        try run("mount", ["-t", "ext4", "-o", "loop", path, mountPoint])
    }

    /// Unmounts, which also gives back the loop device.
    func unmount() throws {
        var complaint: (any Error)?
        // A process that was just killed may hold a file for a moment.
        for _ in 0..<100 {
            do { return try run("umount", [mountPoint]) } catch { complaint = error }
            usleep(20_000)
        }
        throw complaint ?? BenchmarkError("cannot unmount \(mountPoint)")
    }

    /// Stops the file system where it is: what is not on the disk now never gets there, the log included.
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

    /// The clean-up: whatever is mounted goes, even if something holds it.
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
        // Not to be disturbed: an interrupt between mounting and knowing of it would leave the mount behind.
        while true {
            if let exit = process.poll() {
                guard let failure = exit.failure else { return }
                throw BenchmarkError("\(name): \(failure): \(FileSystem.text(of: log))")
            }
            usleep(1_000)
        }
    }
}
