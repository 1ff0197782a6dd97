import Headrace
import HeadracePlatform

/// The random verbs of a user, by calls of the manager or by commands of another process.
extension SimulatedUser {
    mutating func verb(_ manager: DownloadManager) async {
        if plan.losesNetwork, Int.random(in: 0..<6, using: &extra) == 0 {
            machine.setNetwork([nil, "1", "2"].randomElement(using: &extra) ?? nil)
        }
        if plan.hasFreshLinks, Int.random(in: 0..<6, using: &extra) == 0 { await relink(manager) }
        let byCommand = plan.commands && Int.random(in: 0..<3, using: &random) == 0
        switch Int.random(in: 0..<12, using: &random) {
        case 0..<4: await add(manager, byCommand: byCommand)
        case 4: machine.network.change(Int.random(in: 0..<machine.network.site.files.count, using: &random))
        case 5: await setLimits(manager)
        case 6: await move(manager, byCommand: byCommand)
        default: await change(manager, byCommand: byCommand)
        }
    }

    private func registry() -> DownloadRegistry {
        DownloadRegistry(directory: SimulatedMachine.registry, in: machine.process())
    }

    private mutating func add(_ manager: DownloadManager, byCommand: Bool) async {
        var requests: [DownloadRequest] = []
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            guard let file = machine.network.site.files.randomElement(using: &random) else { return }
            let folder = URL(filePath: SimulatedMachine.downloads, directoryHint: .isDirectory)
            let isNamed = Int.random(in: 0..<4, using: &random) == 0
            var request = DownloadRequest(
                file.url,
                to: isNamed ? .file(folder.appending(path: file.url.lastPathComponent)) : .directory(folder)
            )
            request.startsPaused = Int.random(in: 0..<8, using: &random) == 0
            if plan.hasChecksums, Bool.random(using: &extra) { request.checksums = file.checksum.map { [$0] } ?? [] }
            if plan.hasMirrors, Bool.random(using: &extra) { request.mirrors = file.mirrorURL.map { [$0] } ?? [] }
            requests.append(request)
        }
        machine.log.note("\(byCommand ? "command " : "")add \(requests.map(\.summary))")
        for request in requests where !urls.insert(request.url).inserted { machine.network.share(request.url) }
        let uncertain = model.uncertain
        model.uncertain += requests
        do {
            let ids: [DownloadID]
            var isLate = false
            if byCommand {
                let (added, isDone) = try await registry().add(requests)
                (ids, isLate) = (added, !isDone)
                if isLate { try await manager.takeCommands() }
            } else {
                ids = try await manager.download(requests).map(\.id)
            }
            guard !machine.isDown else { return }
            let states = await states(of: manager)
            model.uncertain = uncertain
            let downloads = await manager.downloads
            for (id, request) in zip(ids, requests) {
                // A command carried out before this one has added or resumed the file, whose download adopts the request.
                let isAdopted = isLate && downloads.contains { $0.id != id && $0.request.isForFile(of: request) }
                if states[id] == nil, isAdopted { continue }
                // If the known download has ended without the checksum, another one was added.
                if isLate, !request.checksums.isEmpty { model.uncertain.append(request) }
                if let difference = model.added(id, request, states[id]) { machine.log.violation(difference) }
            }
            machine.log.note("added \(ids)")
            model.written()
        } catch {
            failed(error)
        }
    }

    private mutating func change(_ manager: DownloadManager, byCommand: Bool) async {
        let ids = model.ids
        guard !ids.isEmpty else { return }
        let chosen = (0..<Int.random(in: 1...2, using: &random)).compactMap { _ in ids.randomElement(using: &random) }
        let verb = QueueModel.Verb.allCases.randomElement(using: &random) ?? .pause
        let deletes = Bool.random(using: &random)
        machine.log.note("\(byCommand ? "command " : "")\(verb) \(chosen)")
        model.begin(verb, chosen)
        do {
            if byCommand {
                let command: DownloadRegistry.Command =
                    switch verb {
                    case .pause: .pause(chosen)
                    case .resume: .resume(chosen)
                    case .retry: .retry(chosen)
                    case .cancel: .cancel(chosen)
                    case .remove: .remove(chosen, deletingFiles: deletes)
                    }
                if try await !registry().perform(command) { try await manager.takeCommands() }
            } else {
                switch verb {
                case .pause: try await manager.pause(.downloads(chosen))
                case .resume: for id in chosen { await manager[id]?.resume() }
                case .retry: try await manager.retry(.downloads(chosen))
                case .cancel: try await manager.cancel(.downloads(chosen))
                case .remove: try await manager.remove(.downloads(chosen), deletingFiles: deletes)
                }
            }
            guard !machine.isDown else { return }
            model.done(verb, chosen, await states(of: manager)).forEach(machine.log.violation)
            if byCommand { model.written() }
        } catch {
            if byCommand { model.postponed(verb, chosen) }
            failed(error)
        }
    }

    /// Gives a download a new URL of its file, on the same host or another one.
    private mutating func relink(_ manager: DownloadManager) async {
        guard let id = model.ids.randomElement(using: &extra),
            let name = await manager[id]?.request.url.lastPathComponent,
            let link = URL(string: "http://h\(Int.random(in: 0...1, using: &extra))/\(name)?\(extra.next() % 100)")
        else { return }
        let byCommand = plan.commands && Bool.random(using: &extra)
        machine.log.note("\(byCommand ? "command " : "")link \(id)")
        model.stopped(model.ids)
        do {
            if byCommand {
                if try await !registry().perform(.setURL(link, id)) { try await manager.takeCommands() }
            } else {
                try await manager[id]?.setURL(link)
            }
        } catch {
            failed(error)
        }
    }

    private mutating func setLimits(_ manager: DownloadManager) async {
        do {
            if Bool.random(using: &random) {
                let limit = Int.random(in: 1...plan.limit, using: &random)
                machine.log.note("limit \(limit)")
                machine.network.setLimit(limit)
                model.stopped(model.ids)
                try await manager.setMaxConcurrentDownloads(.fixed(limit))
            } else {
                let rate: Int64? =
                    Bool.random(using: &random) ? nil : Int64.random(in: 10_000...1_000_000, using: &random)
                machine.log.note("rate limit \(rate.map { "\($0)" } ?? "none")")
                try await manager.setRateLimit(rate)
            }
        } catch {
            failed(error)
        }
    }

    private mutating func move(_ manager: DownloadManager, byCommand: Bool) async {
        guard let id = model.ids.randomElement(using: &random) else { return }
        machine.log.note("\(byCommand ? "command " : "")move \(id)")
        // A download of a higher priority may take the slot of this one or of another.
        model.stopped(model.ids)
        do {
            if byCommand {
                if try await !registry().perform(.move(id, to: .first)) { try await manager.takeCommands() }
            } else {
                await manager[id]?.setPriority(.high)
            }
        } catch {
            failed(error)
        }
    }

    /// Reports an error of a verb, unless the machine is down or its disk fails.
    private func failed(_ error: any Error) {
        let code = (error as? DownloadError)?.code
        // Messages may name the file of a command, which contains the time of the real clock.
        machine.log.note("failed: \(code.map { "\($0)" } ?? "\(error)")")
        guard !machine.isDown else { return }
        // A command may have removed the download, although the removal of the command's file failed.
        var expected: [DownloadError.Code] = plan.diskFailures > 0 ? [.fileSystem, .diskFull, .unknownDownload] : []
        // A download of the same file that is just completing cannot adopt another checksum.
        if plan.hasChecksums { expected.append(.invalidRequest) }
        guard !expected.contains(where: { $0 == code }) else { return }
        machine.log.violation("a verb failed: \(error)")
    }
}

extension DownloadRequest {
    /// The properties that a simulation varies.
    fileprivate var summary: String {
        let isNamed = if case .file = destination { true } else { false }
        return url.lastPathComponent + (isNamed ? " named" : "") + (startsPaused ? " paused" : "")
            + (mirrors.isEmpty ? "" : " mirrored") + (checksums.isEmpty ? "" : " checked")
    }
}
