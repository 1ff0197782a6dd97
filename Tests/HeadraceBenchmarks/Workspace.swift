import HeadracePlatform

/// The temporary directory of one run, with served files, downloads and auxiliary files.
///
/// It must be on a real disk, like a user's downloads: a memory file system would hide the cost of writing.
struct Workspace: Sendable {
    let root: String

    /// The root of the server.
    var site: String { root + "/site" }
    /// The destination of a contender's files, newly created for every run.
    var output: String { root + "/out" }
    /// The emptied output directories of earlier runs.
    private var aside: String { root + "/aside" }
    /// URL lists, server configuration, certificates and logs.
    var scratch: String { root + "/scratch" }
    /// An empty home directory, so that no user's `.curlrc`, `.wgetrc` or `aria2.conf` is read.
    var home: String { root + "/home" }

    /// Creates the directory inside `parent`.
    ///
    /// The default is the package's `.build`, which git ignores and which is on the disk of the working copy, or else
    /// the current directory.
    init(in parent: String?) throws {
        let current = FileSystem.currentDirectory
        let build = current + "/.build"
        let parent = parent ?? (FileSystem.isDirectory(build) ? build : current)
        guard let resolved = realpath(parent, nil) else { throw BenchmarkError.system("cannot use \(parent)") }
        defer { free(resolved) }
        var template = Array((String(cString: resolved) + "/.headrace-bench-XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else {
            throw BenchmarkError.system("cannot make a temporary directory in \(parent)")
        }
        root = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        for directory in [site, output, aside, scratch, home] { try FileSystem.makeDirectory(directory) }
    }

    func remove() {
        FileSystem.remove(root)
    }

    /// Frees the space of a run's files.
    ///
    /// They are truncated, not deleted: ext4 does not reuse a deleted inode for a minute and scans all of them whenever
    /// it creates a file. (Measured: 2,000 files took curl 0.3 s, and 2.3 s right after deleting 2,000 others.) For the
    /// same reason, leave a minute between two runs of this tool.
    func emptyOutput() throws {
        for name in try FileSystem.names(in: output) { truncate(output + "/" + name, 0) }
    }

    /// Creates an empty output directory for the next run, and flushes earlier writes to the disk.
    func prepareForRun() throws {
        try emptyOutput()
        let turn = try FileSystem.names(in: aside).count
        guard rename(output, "\(aside)/\(turn)") == 0 else { throw BenchmarkError.system("cannot move \(output)") }
        try FileSystem.makeDirectory(output)
        sync()
    }

    /// The free space of the disk in bytes.
    var freeBytes: Int { FileSystem.freeBytes(at: root) }

    /// Throws if the disk has too little free space for the run.
    func requireSpace(_ bytes: Int) throws {
        let margin = 256 << 20
        let free = freeBytes
        guard free > bytes + margin else {
            throw BenchmarkError(
                "\(root) has \(Format.mebibytes(free)) MiB free, \(Format.mebibytes(bytes + margin)) MiB are needed; "
                    + "choose another with --directory or less with --size"
            )
        }
    }
}
