import HeadracePlatform
import HeadraceTestSupport

@testable import Headrace

/// Runs a combination to its end, and records every violated rule.
final class CombinationRun: Sendable {
    /// The bytes that a reader of the whole file has received.
    private struct Reading {
        /// The versions with which all bytes so far agree.
        var versions: [Combination.Version: Data]
        var position = 0
        var error: DownloadError?
    }

    private static let existing = Array("another file".utf8)
    /// More requests than any correct run needs; each failure takes a few.
    private static let mostRequests = 150

    private let combination: Combination
    private let server: CombinationServer
    private let traffic: FaultServer
    private let folder: URL
    private let links = Locked(0)
    private let stopsDone = Locked(0)
    private let isShutDown = Locked(false)
    private let found = Locked<[String]>([])

    /// Returns a description of the violations and the events; `nil` if there were none.
    static func failure(of combination: Combination) async throws -> String? {
        let server = try CombinationServer(combination)
        return try await withFaultServer(server.response) { traffic in
            try await withTemporaryDirectory { folder in
                let run = CombinationRun(combination, server, traffic, folder)
                return try await run.failure()
            }
        }
    }

    private init(_ combination: Combination, _ server: CombinationServer, _ traffic: FaultServer, _ folder: URL) {
        self.combination = combination
        self.server = server
        self.traffic = traffic
        self.folder = folder
    }

    private var downloads: URL { folder.appending(path: "downloads", directoryHint: .isDirectory) }
    private var target: URL { downloads.appending(path: "file.bin") }

    private func complain(_ what: String) {
        found.withLock { $0.append(what) }
    }

    private func failure() async throws -> String? {
        try FileManager.default.createDirectory(at: downloads, withIntermediateDirectories: true)
        if combination.fileExists { try Data(Self.existing).write(to: target) }
        var manager = try await DownloadManager(configuration: configuration)
        var (earlier, history) = ([DownloadEvent](), [DownloadEvent]())
        do {
            var download = try await manager.download(try request())
            var failures = 0
            while true {
                let end = try await round(of: download, manager)
                history = earlier
                for await event in download.events { history.append(event) }
                // The manager may have been shut down even if the download ended by itself.
                if isShutDown.withLock({ $0 }) {
                    isShutDown.withLock { $0 = false }
                    earlier = history
                    (manager, download) = try await nextManager()
                    guard case .finished = end else {
                        await download.resume()
                        continue
                    }
                }
                guard case .failed(let error) = end, failures <= combination.failures else {
                    try check(end)
                    break
                }
                let wrong = try complaints(about: nil)
                // The caller may have resumed the download meanwhile.
                if case .failed = download.state { wrong.forEach(complain) }
                if error.code == .fileExists { break }
                failures += 1
                if failures > combination.failures { server.behave() }
                await download.resume()
            }
            if let policy = combination.refetch, !combination.fileExists, case .finished = download.state {
                try await refetch(policy, manager)
            }
        } catch is CancellationError {
            complain("it hangs")
        } catch {
            await manager.shutdown()
            throw error
        }
        await manager.shutdown()
        let requests = traffic.requests
        if requests.count > Self.mostRequests { complain("\(requests.count) requests") }
        let wrong = found.withLock { $0 }
        guard !wrong.isEmpty else { return nil }
        let requested = requests.map { request in
            let fields = ["Range", "If-Range", "If-None-Match", "If-Modified-Since"].compactMap { name in
                request[name].map { "\(name): \($0)" }
            }
            return "\(request.target) \(fields.joined(separator: ", ")) -> \(request.bodyBytesSent)"
        }
        let seen = ["\(combination)"] + requested + history.map { "\($0)" }
        let story = (wrong + seen).joined(separator: "\n  ")
        let noise = [
            "HeadraceTests.Combination.", "HeadraceTestSupport.", "Headrace.", downloads.path, "\(traffic.url())",
        ]
        return noise.reduce(story) { $0.replacing($1, with: "") }
    }

    // MARK: The client

    private var configuration: DownloadConfiguration {
        DownloadConfiguration {
            $0.retryPolicy.maxFailures = combination.retries
            $0.retryPolicy.baseDelay = .zero
            $0.retryPolicy.maxRetriesPerHostAndMinute = nil
            $0.maxConnectionsPerDownload = combination.connections
            $0.resumesPartialDownloads = combination.resumesPartials
            $0.durability = combination.durability
            $0.checksServerDigests = combination.checksServerDigests
            $0.restoresPaused = true
            $0.registryDirectory = folder.appending(path: "registry", directoryHint: .isDirectory)
        }
    }

    /// The host of all sources except the first.
    private var host: String { combination.isElsewhere ? "localhost" : "127.0.0.1" }

    private func request() throws -> DownloadRequest {
        var request = DownloadRequest(
            traffic.url("/file.bin"),
            to: combination.namesFile ? .file(target) : .directory(downloads),
            conflictPolicy: combination.conflict,
            resumePolicy: combination.resumePolicy
        )
        request.mirrors = combination.mirrors.indices.map { traffic.url("/m\($0)/file.bin", host: host) }
        request.checksums = try combination.checksum.map { [try Checksum(of: combination.body($0))] } ?? []
        request.mismatchPolicy = combination.mismatchPolicy
        request.expectedSize = combination.expectedSize.map(combination.size)
        request.pieceHashes = try combination.pieces.flatMap { try pieces(of: $0) }
        request.rateLimit = combination.rateLimit
        if combination.hasLinkProvider {
            request.linkProvider = .init { [self] in
                let number = links.withLock { number in
                    number += 1
                    return number
                }
                return .init(traffic.url("/fresh/file.bin?\(number)", host: host))
            }
        }
        return request
    }

    private func pieces(of version: Combination.Version) throws -> PieceHashes? {
        let length: Int64 = 100_000
        let body = combination.body(version)
        let checksums = try stride(from: 0, to: body.count, by: Int(length)).map { start in
            try Checksum(of: body.slice(start..<start + length))
        }
        return PieceHashes(length: length, checksums: checksums)
    }

    /// Creates the manager of the next run, and returns it with the restored download.
    private func nextManager() async throws -> (DownloadManager, Download) {
        let manager = try await DownloadManager(configuration: configuration)
        guard let download = await manager.downloads.first else {
            await manager.shutdown()
            throw DownloadError(.unknownDownload, "The list is empty.")
        }
        guard !download.state.isEnded, combination.hasLinkProvider else { return (manager, download) }
        // A link provider is never saved, so the request is repeated to supply it.
        return (manager, try await manager.download(try request()))
    }

    /// Observes the download until it ends, and performs the caller's stops.
    private func round(of download: Download, _ manager: DownloadManager) async throws -> DownloadState {
        async let _ = stop(download, manager)
        async let lastProgress = watch(download)
        async let reading = combination.isRead ? read(download) : nil
        var end: DownloadState?
        for await state in download.states where state.isEnded { end = state }
        guard let end else { throw CancellationError() }
        check(await reading, after: end, hasRestarted: await hasRestarted(download))
        let progress = await lastProgress
        if case .finished(let file) = end, download.request.conflictPolicy != .skip {
            let size = FileProbe.size(of: file)
            if progress.bytesReceived != size || progress.totalBytes != size {
                complain(
                    "ended with \(progress.bytesReceived) of \(progress.totalBytes ?? -1), the file has \(size ?? -1)"
                )
            }
        }
        return end
    }

    private func watch(_ download: Download) async -> DownloadProgress {
        var last = DownloadProgress()
        for await progress in download.progress {
            last = progress
            guard let total = progress.totalBytes, progress.bytesReceived > total else { continue }
            complain("progress of \(progress.bytesReceived) of \(total)")
        }
        return last
    }

    /// Whether bytes were discarded that a reader may have received.
    private func hasRestarted(_ download: Download) async -> Bool {
        for await event in download.events {
            switch event {
            case .restarted, .repairing, .fellBackToOneConnection: return true
            default: break
            }
        }
        return false
    }

    private func read(_ download: Download) async -> Reading {
        let versions = Combination.Version.allCases.map { ($0, Data(combination.bytes($0))) }
        var reading = Reading(versions: Dictionary(uniqueKeysWithValues: versions))
        do {
            for try await bytes in download.bytes() {
                let end = reading.position + bytes.count
                reading.versions = reading.versions.filter { $1.count >= end && $1[reading.position..<end] == bytes }
                reading.position = end
            }
        } catch {
            reading.error = error as? DownloadError
        }
        return reading
    }

    private func stop(_ download: Download, _ manager: DownloadManager) async {
        while true {
            let number = stopsDone.withLock { $0 }
            guard number < combination.stops.count else { return }
            let stop = combination.stops[number]
            do {
                try await traffic.waitUntil { [server] traffic in
                    guard let index = server.request(of: number) else { return false }
                    return traffic.requests[index].bodyBytesSent >= stop.bytes || traffic.activeRequests == 0
                        || traffic.requests.count > index + 1
                }
            } catch {
                return
            }
            if stop.reads { await wait(for: stop.bytes, of: download, from: server.request(of: number) ?? 0) }
            stopsDone.withLock { $0 += 1 }
            switch stop.action {
            case .nothing: server.goOn(after: number)
            case .pause:
                await download.pause()
                server.goOn(after: number)
                await download.resume()
            case .shutDown:
                isShutDown.withLock { $0 = true }
                await manager.shutdown()
                return server.goOn(after: number)
            }
        }
    }

    /// Waits until the bytes can be read, or until the response has turned out to be unusable.
    private func wait(for bytes: Int64, of download: Download, from index: Int) async {
        await withTaskGroup { group in
            group.addTask {
                var count: Int64 = 0
                var iterator = download.bytes().makeAsyncIterator()
                while count < bytes, let next = try? await iterator.next() { count += Int64(next.count) }
            }
            group.addTask { [traffic] in
                try? await traffic.waitUntil { $0.requests.count > index + 1 || $0.activeRequests == 0 }
            }
            await group.next()
            group.cancelAll()
        }
    }

    // MARK: The rules

    private func check(_ reading: Reading?, after end: DownloadState, hasRestarted: Bool) {
        guard let reading, !(combination.fileExists && combination.conflict == .skip) else { return }
        let isFinished = if case .finished = end { true } else { false }
        let whole = reading.versions.filter { $1.count == reading.position }.keys
        let isExact = whole.contains { combination.body($0).difference(fromFileAt: file(of: end)) == nil }
        // If a checksum verifies the file at the end, a reader may have received bytes that were combined by mistake.
        let isProvenLater = combination.wanted != nil || combination.digest != .none && !combination.mirrors.isEmpty
        switch reading.error?.code {
        case nil where !isFinished: complain("a reader came to the end of what failed")
        case nil: if !isExact { complain("a reader had other bytes than the file") }
        case .resourceChanged?: if isFinished, !hasRestarted { complain("a reader failed without a restart") }
        case let code?: if isFinished { complain("a reader failed with \(code) on a file that is finished") }
        }
        if !isProvenLater, reading.position > 0, reading.versions.isEmpty {
            complain("a reader had bytes of no version, or of two")
        }
    }

    private func file(of end: DownloadState) -> URL {
        if case .finished(let file) = end { file } else { target }
    }

    /// Checks the final state, which may be a failure if the server never stopped misbehaving.
    private func check(_ end: DownloadState) throws {
        switch end {
        case .finished(let file):
            try complaints(about: file).forEach(complain)
            if combination.fileExists, combination.conflict == .skip { return }
            if combination.fileExists, combination.conflict == .fail { complain("there was a file of the name") }
            let versions = Combination.Version.allCases.filter {
                combination.body($0).difference(fromFileAt: file) == nil
            }
            if versions.isEmpty { complain("the file is of no version") }
            if !versions.contains(where: combination.isWanted) { complain("the file is not what it should be") }
        case .failed(let error):
            try complaints(about: nil).forEach(complain)
            if mustFinish { complain("failed: \(error)") }
        default: complain("ended as \(end)")
        }
    }

    private var mustFinish: Bool {
        if combination.isWanted(server.present) { return true }
        return combination.mirrors.contains { combination.isWanted($0.version) }
    }

    /// Returns what is wrong in the folder; if `file` is `nil`, there must be no finished file.
    private func complaints(about file: URL?) throws -> [String] {
        var (names, wrong) = (try FileProbe.names(in: downloads), [String]())
        if combination.fileExists, file?.lastPathComponent != target.lastPathComponent || combination.conflict == .skip
        {
            if try !names.contains("file.bin") || FileProbe.bytes(of: target) != Self.existing {
                wrong.append("the file that was there is not any more")
            }
            names.removeAll { $0 == "file.bin" }
        }
        if let file, combination.conflict != .skip || !combination.fileExists {
            names.removeAll(where: isKept)
            if names != [file.lastPathComponent] { wrong.append("beside \(file.lastPathComponent) there is \(names)") }
        } else if names.contains(where: { !$0.contains(".part") && !isKept($0) }) {
            wrong.append("what failed left \(names)")
        }
        return wrong
    }

    /// Whether the name is that of a saved file with a wrong checksum.
    private func isKept(_ name: String) -> Bool {
        combination.mismatchPolicy == .keep && name.hasSuffix(MismatchNames.suffix)
    }

    /// Requests the finished file again from a server without faults.
    private func refetch(_ policy: DownloadRequest.RefetchPolicy, _ manager: DownloadManager) async throws {
        server.behave()
        var request = try request()
        request.refetchPolicy = policy
        request.conflictPolicy = .overwrite
        let download = try await manager.download(request)
        do {
            let file = try await download.value
            try check(.finished(file))
            guard combination.wanted == nil, combination.mirrors.isEmpty, combination.tellsVersions else { return }
            if combination.body(server.present).difference(fromFileAt: file) != nil {
                complain("asked again, the file is not the server's")
            }
        } catch let error as DownloadError {
            if mustFinish { complain("asked again: \(error)") }
        }
    }
}
