import HeadracePlatform

/// Two network namespaces connected by a virtual cable: this process is in one, the server in the other.
///
/// The addresses are reserved for documentation (RFC 5737), so they exist on no real network.
struct NetworkPair {
    static let serverAddress = "192.0.2.1"
    static let firstAddress = "192.0.2.2/24"
    /// In another subnet of the same link, so that the kernel does not remove it together with the first address.
    static let secondAddress = "192.0.2.3/25"
    static let link = "hr-client"
    private static let serverLink = "hr-server"
    private static let port: UInt16 = 8080
    /// Far longer than the checks take; the other namespace disappears then, even if this process is killed.
    private static let longestLife = 300

    private let workspace: Workspace
    /// The process that keeps the other namespace alive.
    private let holder: ChildProcess
    private let server: ChildProcess

    /// Enters a new namespace; throws if that is not permitted.
    static func enter() throws {
        let newUser: CInt = 0x1000_0000  // CLONE_NEWUSER
        let newNetwork: CInt = 0x4000_0000  // CLONE_NEWNET
        let (user, group) = (geteuid(), getegid())
        try Namespace.unshare(user == 0 ? newNetwork : newUser | newNetwork)
        guard user != 0 else { return }
        // Maps only this user, to root in the namespace.
        try FileSystem.write("deny", to: "/proc/self/setgroups")
        try FileSystem.write("0 \(user) 1", to: "/proc/self/uid_map")
        try FileSystem.write("0 \(group) 1", to: "/proc/self/gid_map")
    }

    /// Connects the namespaces, and serves a directory at the other end.
    init(serving site: String, in workspace: Workspace) throws {
        self.workspace = workspace
        holder = try Self.start(["unshare", "-n", "sleep", "\(Self.longestLife)"], "holder", workspace)
        do {
            try Self.awaitNamespace(of: holder)
            try Self.run("ip link set lo up", workspace)
            let peer = "peer name \(Self.serverLink) netns \(holder.id)"
            try Self.run("ip link add \(Self.link) type veth \(peer)", workspace)
            try Self.run("ip addr add \(Self.firstAddress) dev \(Self.link)", workspace)
            try Self.run("ip link set \(Self.link) up", workspace)
            try Self.run("ip route add default via \(Self.serverAddress)", workspace)
            let other = "nsenter -t \(holder.id) -n"
            try Self.run("\(other) ip addr add \(Self.serverAddress)/24 dev \(Self.serverLink)", workspace)
            try Self.run("\(other) ip link set \(Self.serverLink) up", workspace)
            let serve = [FileSystem.ownExecutable, "serve", site, "\(Self.port)", Self.serverAddress]
            server = try Self.start(other.split(separator: " ").map(String.init) + serve, "server", workspace)
            try OriginServer.awaitPort(
                Self.port,
                at: Self.serverAddress,
                of: server,
                log: workspace.scratch + "/server.log"
            )
        } catch {
            holder.stop()
            throw error
        }
    }

    func stop() {
        server.stop()
        holder.stop()
    }

    func url(for path: String) -> String { "http://\(Self.serverAddress):\(Self.port)/\(path)" }

    /// Changes this end with an `ip` command.
    func change(_ command: String) throws {
        try Self.run("ip " + command, workspace)
    }

    /// Switches the other end on or off, which looks like plugging in or pulling a cable at this end.
    func setCarrier(_ isOn: Bool) throws {
        let state = isOn ? "up" : "down"
        try Self.run("nsenter -t \(holder.id) -n ip link set \(Self.serverLink) \(state)", workspace)
    }

    private static func awaitNamespace(of process: ChildProcess) throws {
        let own = try FileSystem.target(of: "/proc/self/ns/net")
        for _ in 0..<1000 {
            guard try FileSystem.target(of: "/proc/\(process.id)/ns/net") == own else { return }
            if let exit = process.poll() {
                throw BenchmarkError("unshare: \(exit.failure ?? "ended")")
            }
            try Signals.check()
            usleep(5_000)
        }
        throw BenchmarkError("there is no second network namespace")
    }

    private static func run(_ line: String, _ workspace: Workspace) throws {
        let process = try start(line.split(separator: " ").map(String.init), "network", workspace)
        guard let failure = try process.wait(atMost: 10).failure else { return }
        throw BenchmarkError("\(line): \(failure): \(FileSystem.text(of: workspace.scratch + "/network.log"))")
    }

    private static func start(_ words: [String], _ name: String, _ workspace: Workspace) throws -> ChildProcess {
        guard let executable = FileSystem.find(words[0]) else { throw BenchmarkError("there is no \(words[0])") }
        return try ChildProcess.spawn(
            Command(executable: executable, arguments: Array(words.dropFirst())),
            home: workspace.home,
            log: "\(workspace.scratch)/\(name).log"
        )
    }
}
