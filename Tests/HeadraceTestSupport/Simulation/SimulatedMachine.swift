import Headrace
import HeadracePlatform

/// The machine of a simulation: its clock, its executor, its network and a disk that outlives processes.
final class SimulatedMachine: Sendable {
    /// Without a slash at the end, since the disk compares paths as they are.
    static let registry = URL(filePath: "/registry", directoryHint: .notDirectory)
    static let downloads = "/downloads"

    private struct State {
        var disk: MemoryDisk
        /// The contents of the disk when ``disk`` was created.
        var start = DiskImage()
        var boots = 1
        var lastProcess = 0
        /// The number of changes of the disk until the machine or its processes stop; `nil` if they do not.
        var changesLeft: Int?
        var isDown = false
        /// The number of disk changes in a thousand that fail.
        var failuresPerThousand = 0
        var random: SeededRandom
        /// Whether power cuts damage no file under its final name.
        var isDurable = true
    }

    let clock = TestClock()
    let executor: SimulatedExecutor
    let network: SimulatedNetwork
    /// Reports the network path to all processes; unknown in simulations whose network stays.
    let path = NetworkMonitor(fixed: nil)
    let log: SimulationLog
    private let state: Locked<State>

    init(seed: UInt64, hidesChanges: Bool) {
        var random = SeededRandom(seed: seed)
        executor = SimulatedExecutor(seed: random.next())
        log = SimulationLog(clock)
        network = SimulatedNetwork(SimulatedSite(seed: random.next(), hidesChanges: hidesChanges), log, clock)
        state = Locked(State(disk: MemoryDisk(), random: random))
        use(DiskImage())
    }

    var disk: MemoryDisk { state.withLock { $0.disk } }

    /// Whether all processes were killed.
    var isDown: Bool { state.withLock { $0.isDown } }

    /// Starts a process, and returns the system on which it runs.
    func process() -> SimulatedSystem {
        let (disk, process) = state.withLock { state in
            state.lastProcess += 1
            return (state.disk, state.lastProcess)
        }
        return SimulatedSystem(
            transport: SimulatedTransport(network: network, process: process) { [weak self] in
                self.map { $0.disk !== disk || $0.isDown } ?? true
            },
            files: disk.calls(of: process),
            clock: clock,
            executor: executor,
            random: { [weak self] in self?.state.withLock { $0.random.next() } ?? 0 },
            network: path
        )
    }

    /// Makes all processes end after this number of changes of the disk.
    func stop(afterChanges count: Int) {
        state.withLock { $0.changesLeft = count }
    }

    /// Makes changes of the disk fail at random; 0 ends this.
    func setDiskFailures(perThousand count: Int) {
        state.withLock { $0.failuresPerThousand = count }
    }

    /// Ends all processes now, unless they have ended already.
    func kill() {
        let (disk, last) = state.withLock { state in
            state.changesLeft = nil
            defer { state.isDown = true }
            return (state.isDown ? nil : state.disk, state.lastProcess)
        }
        guard let disk else { return }
        for process in 0...last { disk.kill(process) }
        log.note("all processes are killed")
    }

    /// Starts the machine again with what remains on its disk.
    func restart(after crash: Crash) {
        let image = state.withLock { state in
            state.isDown = false
            state.changesLeft = nil
            guard crash != .kill else { return state.disk.image }
            state.boots += 1
            return crash.image(after: state.disk.changes, on: state.start, seed: state.random.next())
        }
        log.note("restart after \(crash)")
        use(image)
        check(image)
    }

    private func use(_ image: DiskImage) {
        let boots = state.withLock { $0.boots }
        let disk = MemoryDisk(image, bootID: "boot\(boots)") { [weak self] change throws(SystemError) in
            try self?.willChange(change)
        }
        state.withLock { state in (state.disk, state.start) = (disk, image) }
    }

    private func willChange(_ change: DiskChange) throws(SystemError) {
        let isLast = state.withLock { state in
            guard let left = state.changesLeft else { return false }
            state.changesLeft = left - 1
            return left <= 1
        }
        if isLast {
            kill()
            throw SystemError(errno: EIO)
        }
        let failure = state.withLock { state -> Int32? in
            guard state.failuresPerThousand > 0 else { return nil }
            guard Int.random(in: 0..<1000, using: &state.random) < state.failuresPerThousand else { return nil }
            return change.canFill && Bool.random(using: &state.random) ? ENOSPC : EIO
        }
        if let failure {
            log.note("the disk fails: \(SystemError(errno: failure))")
            throw SystemError(errno: failure)
        }
        switch change {
        case .rename(let path, let newPath) where Self.isFinal(newPath):
            log.note("\(path) becomes \(newPath)")
            check(newPath, disk.image.bytes(of: path) ?? [], "is renamed")
        case .create(let path, let node) where Self.isFinal(path):
            log.note("\(path) gets its name")
            check(path, disk.image.files[node] ?? [], "gets its name")
        default: break
        }
    }

    /// Interrupts the network, or restores it with this address.
    func setNetwork(_ address: String?) {
        network.setOffline(address == nil)
        let up = address.map { NetworkPath(isUp: true, localEndpoints: [$0]) }
        path.update(up ?? NetworkPath(isUp: false, interface: .loopback))
        log.note("network \(address ?? "down")")
    }

    /// Checks all files under their final names.
    func check(_ image: DiskImage) {
        for path in image.names.keys.sorted() where Self.isFinal(path) {
            check(path, image.bytes(of: path) ?? [], "is on the disk")
        }
    }

    private func check(_ path: String, _ bytes: [UInt8], _ moment: String) {
        let name = String(path.dropFirst(Self.downloads.count + 1))
        if network.site.file(named: name)?.isVersion(bytes) != true {
            log.violation("\(path) with \(bytes.count) bytes is of no version when it \(moment)")
        }
    }

    private static func isFinal(_ path: String) -> Bool {
        path.hasPrefix(downloads + "/") && !path.contains(".part") && !path.hasSuffix(".mismatch")
    }
}

extension DiskChange {
    /// Whether the change needs room on the disk.
    fileprivate var canFill: Bool {
        switch self {
        case .create, .write: true
        case .truncate, .sync, .rename, .remove, .syncDirectory: false
        }
    }
}
