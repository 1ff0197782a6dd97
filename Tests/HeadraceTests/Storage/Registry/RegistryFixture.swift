import HeadracePlatform
import HeadraceTestSupport

@testable import Headrace

/// Registries for tests.
enum RegistryFixture {
    static let bases = RegistryBaseDirectories(
        home: "/home/user",
        registry: "/home/user/.local/state",
        temporary: "/tmp"
    )

    /// Opens the registry of a folder.
    static func open(
        _ folder: URL,
        syncs: Bool = true,
        compaction: RegistryStore.Compaction = RegistryStore.Compaction(),
        calls: FileSystem = .unsynced
    ) throws(DownloadError) -> (list: RegistryList, report: RegistryReport) {
        try open(folder.path, syncs: syncs, compaction: compaction, calls: calls)
    }

    static func open(
        _ folder: String,
        syncs: Bool = true,
        compaction: RegistryStore.Compaction = RegistryStore.Compaction(),
        calls: FileSystem
    ) throws(DownloadError) -> (list: RegistryList, report: RegistryReport) {
        let opened = try RegistryFile.open(folder, .init(syncs: syncs, compaction: compaction), calls: calls)
        return (RegistryList(opened.file, opened.snapshot), opened.report)
    }

    static let stamp = FileStamp(size: 5, modified: 1_767_225_600_123_456_789, inode: 7)

    /// An entry with only the required fields.
    static func entry(_ id: UInt64, _ state: RegistryEntry.State = .waiting, label: Int64 = 0) -> RegistryEntry {
        let path = RelocatablePath("/home/user/Downloads/file-\(id)", bases: bases)
        let request = RegistryRequest(url: "https://example.org/file-\(id)", destination: .file(path))
        return RegistryEntry(id: id, request, state: state, label: label, number: number(of: id))
    }

    /// Unique for small ids.
    private static func number(of id: UInt64) -> Int { Int(id % 999_999) + 1 }

    /// An entry with every field set and characters that JSON escapes.
    static func fullEntry(_ id: UInt64) -> RegistryEntry {
        var request = RegistryRequest(
            url: "https://user:word@example.org/n%C3%A4me.zip?q=1/2",
            destination: .directory(RelocatablePath("/home/user/Down\"loads", bases: bases)),
            conflictPolicy: .overwrite,
            headers: [HeaderField(name: "Accept", value: "a\\b"), HeaderField(name: "Cookie", value: "secret")],
            resumePolicy: .overlap
        )
        request.refetchPolicy = .ifChanged
        request.requiresPublicAddress = true
        let checksum = Checksum(.md5, bytes: (0..<16).map { $0 * 16 + $0 })
        request.expectations = FileExpectations(
            checksums: checksum.map { [$0] } ?? [],
            pieces: checksum.flatMap { PieceHashes(length: 3, checksums: [$0, $0], fileSize: id == .max ? 5 : nil) },
            size: 5
        )
        request.group = "group"
        request.rateLimit = 1 << 40
        request.title = "näme\n\u{0}\u{2028}"
        request.userInfo = ["key": "value", "": ""]
        request.priority = -3
        request.earliestBegin = 1_767_225_600_123
        request.startsPaused = true
        request.networkPolicy = .wifiOrWired
        let file = RelocatablePath("/tmp/a b/näme.zip", bases: bases)
        var entry = RegistryEntry(
            id: id,
            request,
            state: .finished(file, FileStamp(size: .max, modified: .min, inode: .max)),
            label: .min,
            number: number(of: id)
        )
        (entry.added, entry.started, entry.ended) = (1_767_225_600_123, 1_767_225_600_124, 1_767_225_600_125)
        return entry
    }

    static func image(_ changes: some Sequence<RegistryChange>) -> RegistrySnapshot {
        changes.reduce(into: RegistrySnapshot()) { $0.apply($1) }
    }

    static func journal(_ changes: some Sequence<RegistryChange>) throws -> [UInt8] {
        RegistryJournal.header + (try RegistryEncoder.lines(of: changes))
    }

    /// The end of the header, then the end of the lines of each change.
    static func ends(of changes: [RegistryChange]) throws -> [Int] {
        try changes.reduce(into: [RegistryJournal.header.count]) { ends, change in
            ends.append((ends.last ?? 0) + (try RegistryEncoder.lines(of: [change]).count))
        }
    }

    /// Reads a whole journal in pieces of the given size.
    static func read(_ bytes: [UInt8], pieceBytes: Int = 1 << 20) throws -> RegistryReader {
        var reader = RegistryReader()
        for start in stride(from: 0, to: bytes.count, by: pieceBytes) {
            try reader.read(Array(bytes[start..<min(start + pieceBytes, bytes.count)]))
        }
        try reader.finish()
        return reader
    }

    /// A change that makes sense for a few downloads, in one line if it adds at most one.
    static func randomChange(_ random: inout SeededRandom, addingUpTo maxAdded: Int = 1) -> RegistryChange {
        func id() -> UInt64 { .random(in: 0..<20, using: &random) }
        func label() -> Int64 { Bool.random(using: &random) ? .random(in: .min ... .max, using: &random) : 7 }
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<3:
            return .added(
                (0..<Int.random(in: 0...maxAdded, using: &random)).map { _ in
                    var entry = Bool.random(using: &random) ? entry(id()) : fullEntry(id())
                    entry.state = randomState(&random)
                    entry.label = label()
                    // Unique in the queue.
                    entry.number = Int(entry.id) + 1 + 20 * .random(in: 0..<5, using: &random)
                    let notes: [BackgroundTaskState?] = [
                        nil, .started, .resumable(ResumeData(bytes: [0, 255], time: .min)),
                    ]
                    entry.background = notes.randomElement(using: &random) ?? nil
                    return entry
                }
            )
        case 3..<6:
            let time = Bool.random(using: &random) ? Int64.random(in: .min ... .max, using: &random) : nil
            return .state(id(), randomState(&random), at: time)
        case 6: return .moved(id(), label: label())
        case 7:
            let labels = (0..<Int.random(in: 0...9, using: &random)).map { _ in (id(), label()) }
            return .relabelled(Dictionary(labels) { $1 })
        case 8: return .priority(id(), .random(in: .min ... .max, using: &random))
        default: return .removed([id(), id()])
        }
    }

    static func randomCommand(_ random: inout SeededRandom) -> RegistryCommand {
        let ids = (0..<Int.random(in: 0...3, using: &random)).map { _ in
            UInt64.random(in: .min ... .max, using: &random)
        }
        let id = UInt64.random(in: .min ... .max, using: &random)
        let other = Download.ID(rawValue: .random(in: .min ... .max, using: &random))
        let number = Int.random(in: .min ... .max, using: &random)
        let places: [QueuePosition] = [.first, .last, .before(other), .after(other), .index(number)]
        let commands: [RegistryCommand] = [
            .add(ids.map { Bool.random(using: &random) ? entry($0) : fullEntry($0) }), .pause(ids),
            .resume(ids), .cancel(ids), .retry(ids), .remove(ids, deletingFiles: Bool.random(using: &random)),
            .move(id, places.randomElement(using: &random) ?? .first), .priority(id, number),
            .relink(id, "http://h/\(number)"),
        ]
        return commands.randomElement(using: &random) ?? .pause([])
    }

    private static func randomState(_ random: inout SeededRandom) -> RegistryEntry.State {
        let states: [RegistryEntry.State] = [
            .waiting, .requeued, .running, .paused, .cancelled, .finished(RelocatablePath("/a/b", bases: bases), stamp),
            .finishing(RelocatablePath("/a/b", bases: bases), stamp),
            .failed(code: "httpStatus", message: "No such file: \"x\" (404).", status: 404),
            .failed(code: "tls", message: "No."), .skipped(RelocatablePath("/a/b", bases: bases), stamp),
        ]
        return states.randomElement(using: &random) ?? .waiting
    }
}

/// A registry file with its entries, as a manager holds them.
final class RegistryList {
    let file: RegistryFile
    private(set) var snapshot: RegistrySnapshot

    init(_ file: RegistryFile, _ image: RegistrySnapshot) {
        self.file = file
        self.snapshot = image
    }

    /// Records changes, rewrites the journal if required or due, and then updates the snapshot.
    func append(_ changes: [RegistryChange], syncing: Bool = true) throws(DownloadError) {
        var next = snapshot
        for change in changes { next.apply(change) }
        switch try file.append(changes, syncing: syncing, live: next.entries.count) {
        case .recorded: break
        case .recordedAndDue: try? file.replace(with: next.entries)
        case .wholeListNeeded: try file.replace(with: next.entries)
        }
        snapshot = next
    }

    func compact() throws(DownloadError) {
        try file.replace(with: snapshot.ordered)
    }

    func close() { file.close() }
}
