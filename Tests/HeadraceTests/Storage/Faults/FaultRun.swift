import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// A run with a fault, and the run after it, which must finish whatever the fault left.
struct FaultRun {
    /// The result of one run.
    private struct Result {
        var error: DownloadError?
        /// The requested ranges.
        var requested: [Range<Int64>]
    }

    let scenario: FaultScenario
    let kind: NthFault.Kind
    /// The number of the call that fails, counted from 1.
    let number: Int
    private let folder: URL
    private let directory: URL
    /// The directory for partial files; `nil` if they are beside the destination.
    private let partials: URL?
    private let partialPath: String
    private let fault: NthFault
    private let clock = TestClock()
    private let record: DownloadRecord
    /// The right file; comparing arrays is a hundred times slower than comparing data in a debug build.
    private let file: Data

    init(_ scenario: FaultScenario, _ kind: NthFault.Kind, at number: Int, in folder: URL) throws {
        self.scenario = scenario
        self.kind = kind
        self.number = number
        self.folder = folder
        directory = scenario.lacksDirectory ? folder.appending(path: "a/b", directoryHint: .isDirectory) : folder
        record = try Self.record(scenario, directory)
        file = Data(scenario.file)
        partials = scenario.partials.map { _ in folder.appending(path: Self.partialsName) }
        partialPath = record.names.partialPath(in: partials)
        fault = NthFault(kind, at: number, partialPath: partialPath, clock: clock)
    }

    private static let partialsName = "partials"

    private static func record(_ scenario: FaultScenario, _ directory: URL) throws -> DownloadRecord {
        let url = try #require(URL(string: "http://origin/\(FaultScenario.fileName)"))
        var request = DownloadRequest(url, to: .directory(directory))
        try scenario.request(&request)
        return DownloadRecord(id: Download.ID(rawValue: 1), request: request)
    }

    /// Runs the download; returns `nil` if it made fewer calls, else what is wrong.
    func complaints() async throws -> [String]? {
        if let existing = scenario.existing {
            try Data(existing).write(to: directory.appending(path: FaultScenario.fileName))
        }
        if let earlier = scenario.earlier {
            _ = try await run(Self.record(scenario, directory), .unsynced, earlier)
        }
        let before = try files()
        let first = try await run(record, fault.files, scenario.response)
        guard let hit = fault.hit else { return nil }
        var wrong = try complaints(about: first, after: hit, before: before)
        if hit.call == .sync, hit.path == partialPath { try lose(hit.unsynced) }
        let between = try files()
        // If the file has its name already, the next run only asks whether it is current.
        let isKept =
            FileProbe.size(of: URL(filePath: partialPath)) != nil && !between.values.contains(file)
        // The same process and another one continue a download differently.
        let next = number.isMultiple(of: 2) ? record : try Self.record(scenario, directory)
        let second = try await run(next, .unsynced, scenario.later ?? scenario.response)
        if let error = second.error { wrong.append("the next run failed: \(error)") }
        if scenario.isResumable, first.error?.code != scenario.failure, first.error != nil {
            let kept = mustKeep(hit)
            let fetchedAgain = ByteRangeSet(second.requested).intersection(kept)
            if isKept, !fetchedAgain.isEmpty { wrong.append("the next run downloaded \(fetchedAgain.ranges) again") }
            if !isKept, !kept.isEmpty, !between.values.contains(file) {
                wrong.append("\(kept.ranges) were lost")
            }
        }
        wrong += try complaints(afterLastRun: first.error == nil || hit.record == nil && kind.isLasting)
        return wrong.map { "\(kind) at call \(number), \(hit.call) of \(hit.path): \($0)" }
            .map { $0.replacing(folder.path, with: "") }
    }

    /// Runs one transfer with all its attempts.
    private func run(
        _ record: DownloadRecord,
        _ files: FileSystem,
        _ response: @escaping FaultScenario.Response
    ) async throws -> Result {
        let chunkBytes = max(FaultScenario.chunkBytes, scenario.file.count / 4)
        let transport = FakeTransport(chunkBytes: chunkBytes, numbered: response)
        let environment = TransferEnvironment(
            configuration: DownloadConfiguration {
                $0.retryPolicy.maxFailures = 0
                $0.retryPolicy.baseDelay = .zero
                $0.retryPolicy.maxRetriesPerHostAndMinute = nil
                $0.maxConnectionsPerDownload = scenario.connections
                $0.partialsDirectory = partials
                scenario.configuration(&$0)
            },
            transport: transport,
            files: partials.map { scenario.partials == .other ? files.divided(at: $0.path) : files } ?? files,
            clock: AnyClock(clock)
        )
        // No manager, because its threads would slow down the thousands of runs.
        var state: TransferState?
        var outcome: TransferOutcome
        repeat {
            var transfer = DownloadTransfer(record, StopSignal(), after: state, in: environment)
            outcome = await transfer.run()
            state = if case .retry(let state, _) = outcome { state } else { nil }
        } while state != nil
        var error: DownloadError?
        if case .failed(let failure) = outcome { error = failure }
        let size = Int64(scenario.file.count)
        let requested = transport.requests.map { request in
            Int64(DiskFixture.start(of: request))..<(DiskFixture.end(of: request).map(Int64.init) ?? size)
        }
        return Result(error: error, requested: requested)
    }

    /// All files except partial files and their records, by name.
    private func files() throws -> [String: Data] {
        guard FileProbe.size(of: directory) != nil else { return [:] }
        let names = try FileProbe.names(in: directory).filter {
            !$0.contains(".part") && $0 != Self.partialsName
        }
        return Dictionary(
            uniqueKeysWithValues: try names.map { ($0, try Data(contentsOf: directory.appending(path: $0))) }
        )
    }

    /// Replaces bytes of the partial file by zeros, as if they had been discarded after a failed sync.
    private func lose(_ ranges: ByteRangeSet) throws {
        guard let file = try? FileSystem.system.open(partialPath) else { return }
        defer { try? FileSystem.system.close(file) }
        let size = try FileSystem.system.openStatus(file).size
        // If all calls fail, the record that claims these bytes cannot even be removed.
        guard kind != .inputOutputForEver else { return }
        for range in ranges.ranges where range.lowerBound < size {
            let zeros = [UInt8](repeating: 0, count: Int(min(range.upperBound, size) - range.lowerBound))
            try FileSystem.system.writeAll(file, zeros, at: range.lowerBound)
        }
    }

    private func complaints(
        about result: Result,
        after hit: NthFault.Hit,
        before: [String: Data]
    ) throws -> [String] {
        var wrong: [String] = []
        let now = try files()
        if let error = result.error {
            if error.code != scenario.failure {
                let code = kind.errno == ENOSPC ? DownloadError.Code.diskFull : .fileSystem
                if error.code != code || error.cause as? SystemError != SystemError(errno: kind.errno) {
                    wrong.append("the error is \(error.code) with the cause \(String(describing: error.cause))")
                }
            }
            if !hit.path.isEmpty, !error.message.contains(folder.path) {
                wrong.append("the error names no file: \(error.message)")
            }
        } else if scenario.failure != nil {
            wrong.append("the run finished")
        } else if !now.values.contains(file) {
            wrong.append("the run finished without the file")
        }
        for (name, bytes) in now where bytes != before[name] && bytes != file {
            if !name.hasSuffix(MismatchNames.suffix) { wrong.append("\(name) is wrong, it has \(bytes.count) bytes") }
        }
        for name in before.keys where now[name] == nil { wrong.append("\(name) was removed") }
        return wrong
    }

    /// The bytes that the next run must not download again.
    private func mustKeep(_ hit: NthFault.Hit) -> ByteRangeSet {
        let isSync = hit.call == .sync && hit.path == partialPath
        // If a sync fails, the bytes written since the last one must not be trusted.
        guard !kind.isLasting, !isSync else {
            guard let record = hit.record else { return ByteRangeSet() }
            // A record that claims such bytes is removed if it cannot be replaced.
            return kind == .diskFullForEver && record.written != record.durable ? ByteRangeSet() : record.durable
        }
        var kept = hit.record?.written ?? ByteRangeSet()
        if !isSaving(hit) { for range in hit.received.ranges { kept.insert(range) } }
        return kept
    }

    /// Whether the call was to save the received bytes.
    private func isSaving(_ hit: NthFault.Hit) -> Bool {
        hit.path != partialPath || hit.call == .sync
    }

    /// With `mayCopy`, the next run may not have recognized the finished file, and have downloaded a copy.
    private func complaints(afterLastRun mayCopy: Bool) throws -> [String] {
        var wrong: [String] = []
        let now = try files()
        let existing = scenario.existing.map { Data($0) }
        for (name, bytes) in now where bytes != file && bytes != existing {
            if !name.hasSuffix(MismatchNames.suffix) { wrong.append("after the next run, \(name) is wrong") }
        }
        if !now.values.contains(file) { wrong.append("after the next run, there is no right file") }
        var names = try FileProbe.names(in: directory)
        if let partials {
            names.removeAll { $0 == Self.partialsName }
            names += try FileProbe.names(in: partials)
        }
        if mayCopy { names.removeAll { !scenario.names.contains($0) && now[$0] == file } }
        if scenario.failure == .checksum { names.removeAll { $0 == FaultScenario.fileName + MismatchNames.suffix } }
        if names != scenario.names { wrong.append("the next run left \(names)") }
        return wrong
    }
}
