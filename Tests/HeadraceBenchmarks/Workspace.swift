import HeadracePlatform

/// The temporary directory of one run: what is served, what is fetched, and the odds and ends.
///
/// It lies on a real disk, as a user's downloads do. A memory file system would hide the cost of writing.
struct Workspace: Sendable {
    let root: String

    /// What the server serves.
    var site: String { root + "/site" }
    /// Where a contender puts its files; a new one for every run.
    var output: String { root + "/out" }
    /// What is left of earlier runs' files.
    private var aside: String { root + "/aside" }
    /// Lists, server configuration, certificates and logs.
    var scratch: String { root + "/scratch" }
    /// An empty home, so that no user's `.curlrc`, `.wgetrc` or `aria2.conf` takes part.
    var home: String { root + "/home" }

    /// Makes the directory inside `parent`.
    ///
    /// The default is the package's `.build`, which git ignores and which is on the disk that the work is on;
    /// where there is none, the current directory.
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

    /// Gives the space of a run's files back.
    ///
    /// They are emptied, not deleted: ext4 does not use a deleted inode again for a minute and looks at each of them
    /// whenever it makes a file. (Measured: 2,000 files took curl 0.3 s, and 2.3 s right after 2,000 others were
    /// deleted.) For the same reason leave a minute between two runs of this tool.
    func emptyOutput() throws {
        for name in try FileSystem.names(in: output) { truncate(output + "/" + name, 0) }
    }

    /// Gives the next run an empty output directory, and lets earlier writes reach the disk before it starts.
    func prepareForRun() throws {
        try emptyOutput()
        let turn = try FileSystem.names(in: aside).count
        guard rename(output, "\(aside)/\(turn)") == 0 else { throw BenchmarkError.system("cannot move \(output)") }
        try FileSystem.makeDirectory(output)
        sync()
    }

    /// The bytes that the disk has free.
    var freeBytes: Int { FileSystem.freeBytes(at: root) }

    /// Refuses to start what would fill the disk half way through.
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
