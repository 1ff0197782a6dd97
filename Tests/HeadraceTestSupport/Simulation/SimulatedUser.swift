import Headrace
import HeadracePlatform

/// The user of a simulated machine, who runs managers one after the other and changes their queue at random.
///
/// The user knows what each download should be, and reports each difference.
struct SimulatedUser {
    let machine: SimulatedMachine
    var random: SeededRandom
    /// Makes the choices of later additions to the simulation, so that those of ``random`` stay the same.
    var extra: SeededRandom
    var plan: SimulationPlan
    var model = QueueModel()
    /// The URLs of all downloads so far.
    var urls: Set<URL> = []

    init(_ machine: SimulatedMachine, seed: UInt64) {
        self.machine = machine
        random = SeededRandom(seed: seed ^ 0x7365_7275)
        extra = SeededRandom(seed: seed ^ 0x6578_7472)
        plan = SimulationPlan(using: &random, &extra)
    }

    private var log: SimulationLog { machine.log }

    var configuration: DownloadConfiguration {
        DownloadConfiguration {
            $0.maxConcurrentDownloads = .fixed(plan.limit)
            $0.maxConnectionsPerHost = plan.hostLimit
            $0.maxConnectionsPerDownload = plan.connections
            $0.registryDirectory = SimulatedMachine.registry
            $0.durability = plan.durability
            $0.retryPolicy.maxFailures = plan.failures
        }
    }

    // MARK: The run

    mutating func run() async {
        log.note("\(plan)")
        if plan.losesNetwork { machine.setNetwork("1") }
        for _ in 0..<plan.lives {
            await live()
            guard log.violations.isEmpty else { return }
        }
        machine.network.calm()
        if plan.losesNetwork { machine.setNetwork("1") }
        await settle()
    }

    /// Runs one manager, until it is shut down or killed.
    private mutating func live() async {
        guard let manager = await start() else { return }
        let end = plan.ends.randomElement(using: &random) ?? .shutdown
        machine.setDiskFailures(perThousand: plan.diskFailures)
        if end != .shutdown { machine.stop(afterChanges: Int.random(in: 1...plan.mostChanges, using: &random)) }
        let count = Int.random(in: 1...plan.mostVerbs, using: &random)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [log] in
                for await event in manager.events { if let line = event.line { log.note(line) } }
            }
            if plan.serves { group.addTask { try? await manager.serveCommands() } }
            for _ in 0..<count where !machine.isDown {
                await self.verb(manager)
                guard Bool.random(using: &random) else { continue }
                try? await machine.clock.sleep(for: .milliseconds(Int.random(in: 1...20_000, using: &random)))
            }
            group.cancelAll()
        }
        machine.setDiskFailures(perThousand: 0)
        if end != .shutdown { machine.kill() }
        await stop(manager)
        switch end {
        case .shutdown: machine.check(machine.disk.image)
        case .crash(let crash): machine.restart(after: crash)
        }
    }

    private mutating func start() async -> DownloadManager? {
        machine.network.begin(limit: plan.limit, hostLimit: plan.hostLimit)
        do {
            let manager = try await DownloadManager(configuration: configuration, in: machine.process())
            // Commands that the last process has not carried out are carried out now.
            try await manager.takeCommands()
            log.note("started with \(await manager.downloads.count) downloads")
            model.resolve(await manager.downloads).forEach(log.violation)
            return manager
        } catch {
            log.violation("the manager does not start: \(error)")
            return nil
        }
    }

    private mutating func stop(_ manager: DownloadManager) async {
        let downloads = await manager.downloads
        await manager.shutdown()
        log.note("shut down")
        await checkRepetitions(downloads)
        checkChecksums(downloads)
        if machine.isDown { model.interrupted() } else { model.written() }
    }

    func states(of manager: DownloadManager) async -> [DownloadID: DownloadState.Kind] {
        Dictionary(uniqueKeysWithValues: await manager.downloads.map { ($0.id, $0.state.kind) })
    }

    // MARK: The end

    /// Without further faults, all downloads must finish, except for those that the user has stopped.
    private mutating func settle() async {
        guard let manager = await start() else { return }
        do throws(DownloadError) {
            try await manager.setRateLimit(nil)
        } catch {
            log.violation("without faults: \(error)")
        }
        for _ in 0..<5 {
            await manager.retryFailed()
            guard await isIdle(manager, within: .seconds(3600)) else {
                log.violation("not idle after an hour without faults: \(await manager.downloads.map(\.state))")
                break
            }
            if await !manager.downloads.contains(where: { $0.state.kind == .failed }) { break }
        }
        model.final(await manager.downloads, machine.network.site).forEach(log.violation)
        for case .failed(let error) in await manager.downloads.map(\.state) { log.note("\(error)") }
        await stop(manager)
        machine.check(machine.disk.image)
        let commands = machine.disk.image.names.keys.filter { $0.hasSuffix(".command") }
        if !commands.isEmpty { log.violation("\(commands.count) commands remain") }
    }

    private func isIdle(_ manager: DownloadManager, within limit: Duration) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                await manager.waitUntilIdle()
                return true
            }
            group.addTask { [clock = machine.clock] in
                try? await clock.sleep(for: limit)
                return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
    }

    /// Reports bytes that were received twice although no event of the download says why.
    private func checkRepetitions(_ downloads: [Download]) async {
        let repeated = machine.network.repeatedBytes()
        for download in downloads {
            guard let url = machine.network.site.file(at: download.request.url)?.url else { continue }
            let count = repeated[url] ?? 0
            guard count > 0, !model.isRequestedTwice(url, downloads), !model.wasStopped(download.id),
                download.state.kind.isEnded
            else { continue }
            var events: [DownloadEvent] = []
            for await event in download.events { events.append(event) }
            guard !events.contains(where: \.explainsRepetition) else { continue }
            log.violation("\(url.lastPathComponent): \(count) bytes were received twice; \(events)")
        }
    }
}

extension SimulatedUser {
    /// Reports finished files with another checksum than their request expects.
    private func checkChecksums(_ downloads: [Download]) {
        let (image, site) = (machine.disk.image, machine.network.site)
        for download in downloads {
            guard case .finished(let file) = download.state, let checksum = download.request.checksums.first,
                let url = site.file(at: download.request.url)?.url, !model.isRequestedTwice(url, downloads),
                let bytes = image.bytes(of: file.path(percentEncoded: false)),
                checksum != Checksum(.crc32, bytes: crc32(bytes))
            else { continue }
            machine.log.violation("\(file.lastPathComponent) does not have its checksum")
        }
    }
}

extension QueueEvent {
    /// The event as a line of the trace; `nil` if the user has caused it.
    fileprivate var line: String? {
        switch self {
        case .stateChanged(let id, .failed(let error)): "\(id) failed: \(error)"
        case .stateChanged(let id, let state): "\(id) \(state.kind)"
        // Messages may name the file of a command, which contains the time of the real clock.
        case .registryDamaged: "the registry is damaged"
        case .registryFailed(let error): "the registry failed: \(error.code)"
        default: nil
        }
    }
}

extension DownloadEvent {
    /// Whether bytes may be received again because of this.
    fileprivate var explainsRepetition: Bool {
        switch self {
        case .restarted, .connectionClosed, .fellBackToOneConnection, .sourceFailed, .repairing, .notice, .paused,
            .cancelled, .removed, .failed, .networkChanged:
            true
        default: false
        }
    }
}
