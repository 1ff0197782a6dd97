import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)), .computing)
struct ReadableFileWalkTests {
    @Test(arguments: 0..<40)
    func `in a random walk no reader receives bytes of two versions or missing bytes`(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var walk = Walk(url: try #require(URL(string: "https://example.com/file.bin")))
        for _ in 0..<5_000 { walk.step(using: &random) }
        #expect(walk.handedOut > 50 && walk.failures > 0, "the walk saw too little")
    }
}

/// A simulated disk that records the version of each byte, and readers that read it between any two changes.
private struct Walk {
    private struct Reader {
        var position: Int64
        var version: Int?
        /// The read in progress, and the versions of its bytes when it began.
        var read: (ReadableFile.Read, [Int?])?
    }

    private static let total: Int64 = 200

    let url: URL
    private var file = ReadableFile()
    private var disk = [Int?](repeating: nil, count: Int(Walk.total))
    private var version = 1
    private var isOpen = false
    private var readers: [ReadableFile.ReaderID: Reader] = [:]
    private(set) var handedOut = 0
    private(set) var failures = 0

    init(url: URL) {
        self.url = url
    }

    private var held: ByteRangeSet {
        ByteRangeSet(disk.indices.filter { disk[$0] == version }.map { Int64($0)..<Int64($0) + 1 })
    }

    mutating func step(using random: inout SeededRandom) {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<4:
            guard readers.count < 6 else { break }
            let start = Int64.random(in: 0..<Self.total + 20, using: &random)
            let id = file.join(start..<start + Int64.random(in: 0...300, using: &random))
            readers[id] = Reader(position: start)
        case 4, 5:
            guard let id = readers.keys.sorted().randomElement(using: &random) else { break }
            file.leave(id)
            readers[id] = nil
        case 6: changeSession(using: &random)
        case 7:
            guard isOpen else { break }
            restart()
            file.began("/part", totalBytes: Self.total)
        case 8:
            // Only the bytes that are contiguous from the start survive.
            let kept = ByteRangeSet(held.ranges.prefix { $0.lowerBound == 0 })
            guard isOpen, !kept.isEmpty else { break }
            file.lost(keeping: kept)
            for index in Int(kept.end)..<disk.count { disk[index] = nil }
        case 9..<40:
            let start = Int64.random(in: 0..<Self.total, using: &random)
            let range = start..<min(Self.total, start + Int64.random(in: 1...30, using: &random))
            guard isOpen, disk[Int(range.lowerBound)..<Int(range.upperBound)].allSatisfy({ $0 == nil }) else { break }
            for index in range { disk[Int(index)] = version }
            file.wrote(range)
        default:
            guard let id = readers.keys.sorted().randomElement(using: &random) else { break }
            read(id)
        }
    }

    private mutating func changeSession(using random: inout SeededRandom) {
        if !isOpen {
            let isSame = Int.random(in: 0..<3, using: &random) > 0
            if isSame {
                file.opened("/part", held, totalBytes: Self.total, isSame: true)
            } else {
                restart()
                file.opened("/part", held, totalBytes: Self.total, isSame: false)
            }
        } else {
            file.kept(FileStamp(size: Self.total, modified: 0, inode: 1))
            file.closed()
        }
        isOpen.toggle()
    }

    /// Discards all bytes; the file is notified first.
    private mutating func restart() {
        file.lost()
        version += 1
        disk = disk.map { _ in nil }
    }

    /// Begins a read, or completes the one in progress.
    private mutating func read(_ id: ReadableFile.ReaderID) {
        guard var reader = readers[id] else { return }
        if let (read, bytes) = reader.read {
            reader.read = nil
            if file.took(bytes.count, of: read, by: id) {
                #expect(read.range.lowerBound == reader.position, "bytes come in order")
                let versions = Set(bytes)
                #expect(versions.count == 1 && !versions.contains(nil), "bytes of one version")
                if let before = reader.version { #expect(versions == [before], "bytes of two versions") }
                reader.version = bytes.first ?? nil
                reader.position = read.range.upperBound
                handedOut += 1
            }
            readers[id] = reader
            return
        }
        switch file.step(of: id) {
        case .read(let read):
            reader.read = (read, Array(disk[Int(read.range.lowerBound)..<Int(read.range.upperBound)]))
            readers[id] = reader
        case .wait: break
        case .end: readers[id] = nil
        case .fail(let error):
            failures += 1
            #expect(error.code == .resourceChanged && reader.version != nil, "one who was given nothing goes on")
            file.leave(id)
            readers[id] = nil
        }
    }
}
