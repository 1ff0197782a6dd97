import HeadracePlatform

/// A view of the mounted file systems that only this process and its children have.
///
/// It makes two things possible: a mount that goes away with its processes, however they end, and a boot id of our own,
/// since a file system that is shut down is no reboot and the tool must believe that it is one.
struct MountNamespace {
    private static let bootID = "/proc/sys/kernel/random/boot_id"

    private let file: String

    /// Enters the namespace; throws where that is not allowed.
    init(in workspace: Workspace) throws {
        try Namespace.unshare(0x0002_0000)  // CLONE_NEWNS
        file = workspace.scratch + "/boot_id"
        try FileSystem.write("\n", to: file)
        try Self.mount(["--make-rprivate", "/"], workspace)
        try Self.mount(["--bind", file, Self.bootID], workspace)
    }

    /// Makes the children believe that the machine was started again.
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
