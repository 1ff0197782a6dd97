import HeadracePlatform

/// A private view of the mounted file systems, for this process and its children.
///
/// It allows mounts that disappear with the processes, however they end, and a private boot ID: shutting down a
/// file system is no reboot, but the tool must believe that it is.
struct MountNamespace {
    private static let bootID = "/proc/sys/kernel/random/boot_id"

    private let file: String

    /// Enters the namespace; throws if that is not permitted.
    init(in workspace: Workspace) throws {
        try Namespace.unshare(0x0002_0000)  // CLONE_NEWNS
        file = workspace.scratch + "/boot_id"
        try FileSystem.write("\n", to: file)
        try Self.mount(["--make-rprivate", "/"], workspace)
        try Self.mount(["--bind", file, Self.bootID], workspace)
    }

    /// Makes child processes see another boot ID, as after a reboot.
    func reboot(_ number: Int) throws {
        let digits = String(number)
        let padded = String(repeating: "0", count: max(0, 12 - digits.count)) + digits
        try FileSystem.write("00000000-0000-4000-8000-\(padded)\n", to: file)
    }

    private static func mount(_ arguments: [String], _ workspace: Workspace) throws {
        guard let executable = FileSystem.find("mount") else { throw BenchmarkError("there is no mount") }
        let log = workspace.scratch + "/mount.log"
        let process = try ChildProcess.spawn(
            Command(executable: executable, arguments: arguments),
            home: workspace.home,
            log: log
        )
        let exit = try process.wait(atMost: 10)
        guard let failure = exit.failure else { return }
        throw BenchmarkError("mount \(arguments.joined(separator: " ")): \(failure): \(FileSystem.text(of: log))")
    }
}
