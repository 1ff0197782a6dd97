import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Every file call of a manager with a registry fails in turn, while it restores a queue, adds a download and reads it.
@Suite(.timeLimit(.minutes(4)))
struct QueueFaultTests {
    private static let restored = "a.bin"
    private static let added = "b.bin"
    private static let bytes = FaultScenario.version(1)

    private func manager(
        in folder: URL,
        _ files: FileSystem,
        _ clock: TestClock = TestClock(),
        starts: Bool = true
    ) async throws(DownloadError) -> DownloadManager {
        try await DownloadManager(
            environment: TransferEnvironment(
                configuration: DownloadConfiguration {
                    $0.retryPolicy.maxFailures = 0
                    $0.startsDownloads = starts
                    $0.registryDirectory = folder.appending(path: "registry", directoryHint: .isDirectory)
                },
                transport: FakeTransport(chunkBytes: FaultScenario.chunkBytes) {
                    FaultScenario.serve(Self.bytes, to: $0)
                },
                files: files,
                clock: AnyClock(clock)
            )
        )
    }

    private func request(_ name: String, in folder: URL) throws -> DownloadRequest {
        DownloadRequest(try #require(URL(string: "http://origin/\(name)")), to: .directory(folder))
    }

    /// Restores the queue, adds and reads a download, and waits until all downloads have ended.
    /// - Returns: What is wrong, and whether the download was added.
    private func run(
        in folder: URL,
        _ fault: NthFault,
        _ clock: TestClock
    ) async throws -> (wrong: [String], isAdded: Bool) {
        func complaint(_ error: DownloadError) -> [String] {
            let isTyped = error.cause as? SystemError == SystemError(errno: fault.kind.errno)
            return isTyped && error.message.contains(folder.path)
                ? [] : ["\(error), cause \(String(describing: error.cause))"]
        }
        let manager: DownloadManager
        do {
            manager = try await self.manager(in: folder, fault.files, clock)
        } catch {
            return (complaint(error), false)
        }
        var wrong: [String] = []
        var isAdded = false
        do {
            let download = try await manager.download(request(Self.added, in: folder))
            isAdded = true
            do {
                var read: [UInt8] = []
                for try await bytes in download.bytes() { read += bytes }
                if read != Self.bytes { wrong.append("\(read.count) wrong bytes were read") }
            } catch let error as DownloadError {
                wrong += complaint(error)
            }
        } catch let error as DownloadError {
            wrong += complaint(error)
        }
        for download in await manager.downloads {
            for await state in download.states where state.isEnded {
                if case .failed(let error) = state { wrong += complaint(error) }
                if case .finished(let file) = state, try FileProbe.bytes(of: file) != Self.bytes {
                    wrong.append("\(file.lastPathComponent) is wrong")
                }
            }
        }
        await manager.shutdown()
        return (wrong, isAdded)
    }

    /// Completes the downloads in the queue without faults; returns what is wrong.
    private func complete(in folder: URL, after hit: NthFault.Hit?, isAdded: Bool) async throws -> [String] {
        let manager = try await manager(in: folder, .unsynced)
        var wrong: [String] = []
        var names: [String] = []
        for download in await manager.downloads {
            names.append(download.request.url.lastPathComponent)
            await download.resume()
            do {
                let file = try await download.value
                if try FileProbe.bytes(of: file) != Self.bytes {
                    wrong.append("\(file.lastPathComponent) is wrong at last")
                }
            } catch {
                wrong.append("the next run failed: \(error)")
            }
        }
        await manager.shutdown()
        // An addition that failed may be in the queue if it could not be undone.
        let expected = isAdded || names.count > 1 ? [Self.restored, Self.added] : [Self.restored]
        if names != expected { wrong.append("the queue has \(names)") }
        var left = try FileProbe.names(in: folder)
        // The record of a finished file stays if it could not be removed.
        if hit?.path.hasSuffix(RecordFile.suffix) == true { left.removeAll { $0.hasSuffix(RecordFile.suffix) } }
        if left != expected + ["registry"] { wrong.append("the next run left \(left)") }
        let registry = try FileProbe.names(in: folder.appending(path: "registry"))
        if registry.contains(where: { $0.hasSuffix(RegistryStore.newSuffix) }) { wrong.append("\(registry)") }
        return wrong
    }

    @Test(arguments: NthFault.Kind.allCases)
    func `K01 K05 no failing file call loses a download of a queue`(_ kind: NthFault.Kind) async throws {
        var number = 1
        var isReached = true
        while isReached {
            try await withTemporaryDirectory { folder in
                let earlier = try await manager(in: folder, .unsynced, starts: false)
                _ = try await earlier.download(request(Self.restored, in: folder))
                await earlier.shutdown()
                let clock = TestClock()
                let partial = DestinationPaths(try request(Self.added, in: folder)).partialPath
                let fault = NthFault(kind, at: number, partialPath: partial, clock: clock)
                let (wrong, isAdded) = try await run(in: folder, fault, clock)
                isReached = fault.hit != nil
                let all = try await complete(in: folder, after: fault.hit, isAdded: isAdded) + wrong
                for complaint in all {
                    let hit = fault.hit.map { "\($0.call) of \($0.path)" } ?? "none"
                    Issue.record("\(kind) at call \(number), \(hit): \(complaint)")
                }
            }
            number += 1
        }
        #expect(number > 20)
    }
}
