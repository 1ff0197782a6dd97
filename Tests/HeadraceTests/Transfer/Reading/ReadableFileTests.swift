import HeadracePlatform
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct ReadableFileTests {
    private typealias ReaderID = ReadableFile.ReaderID

    private let path = "/folder/file.part"
    private let final = "/folder/file.bin"
    private let stamp = FileStamp(size: 1000, modified: 5, inode: 7)

    /// A file of 1000 bytes with these ranges received.
    private func file(_ held: Range<Int64>..., total: Int64? = 1000) -> ReadableFile {
        var file = ReadableFile()
        file.began(path, totalBytes: total)
        for range in held { file.wrote(range) }
        return file
    }

    private func range(_ step: ReadableFile.Step) -> Range<Int64>? {
        if case .read(let read) = step { read.range } else { nil }
    }

    /// Returns the read of a step, which must be one.
    private func required(_ step: ReadableFile.Step) throws -> ReadableFile.Read {
        let read: ReadableFile.Read? = if case .read(let read) = step { read } else { nil }
        return try #require(read)
    }

    private func code(_ step: ReadableFile.Step) -> DownloadError.Code? {
        if case .fail(let error) = step { error.code } else { nil }
    }

    /// Reads the available bytes, or `count` of them, and returns whether the reader may use them.
    private func take(_ file: inout ReadableFile, _ id: ReaderID, count: Int? = nil) -> Bool {
        guard case .read(let read) = file.step(of: id) else { return false }
        return file.took(count ?? read.range.count, of: read, by: id)
    }

    private func enter(_ file: inout ReadableFile, _ state: DownloadState) throws {
        file.entered(state, of: try #require(URL(string: "https://example.com/file.bin")))
    }

    @Test(
        arguments: [
            ([], 0..<1000, nil), ([0..<10], 0..<1000, 0..<10), ([0..<10], 5..<8, 5..<8), ([0..<10], 5..<80, 5..<10),
            ([0..<10], 10..<80, nil), ([0..<10, 20..<30], 12..<80, nil), ([0..<10, 20..<30], 25..<80, 25..<30),
            ([0..<1000], 900..<5000, 900..<1000), ([0..<1000], 0..<Int64.max, 0..<1000),
        ] as [([Range<Int64>], Range<Int64>, Range<Int64>?)]
    )
    func `only contiguous received bytes are read`(
        _ held: [Range<Int64>],
        _ wanted: Range<Int64>,
        _ readable: Range<Int64>?
    ) {
        var file = file()
        for range in held { file.wrote(range) }
        let id = file.join(wanted)
        let step = file.step(of: id)
        #expect(range(step) == readable)
        #expect(readable != nil || step == .wait)
    }

    @Test func `bytes are read in order, at most 256 KiB at once, to the end of the range or the file`() {
        var file = file(0..<1 << 20, total: 1 << 20)
        let id = file.join(100_000..<Int64.max)
        var position: Int64 = 100_000
        while let range = range(file.step(of: id)) {
            #expect(range.lowerBound == position && range.count <= 256 << 10)
            let isTaken = take(&file, id)
            #expect(isTaken)
            position = range.upperBound
        }
        #expect(position == 1 << 20 && file.step(of: id) == .end)
    }

    @Test(arguments: [1000..<2000, 5000..<6000, 7..<7] as [Range<Int64>])
    func `a range outside the file ends at once`(_ range: Range<Int64>) {
        var file = file()
        let id = file.join(range)
        #expect(file.step(of: id) == .end)
    }

    @Test func `while the size is unknown, a range beyond the received bytes waits`() {
        var file = file(0..<500, total: nil)
        let id = file.join(600..<700)
        #expect(file.step(of: id) == .wait)
        file.named(final)
        #expect(file.step(of: id) == .end)
    }

    @Test(arguments: [nil, ByteRangeSet(), ByteRangeSet([0..<500])])
    func `a reader of the whole file ends when the file is finished, or fails if bytes were wrong`(
        _ kept: ByteRangeSet?
    ) throws {
        var file = file(0..<1000)
        let (whole, rest) = (file.join(0..<Int64.max), file.join(200..<Int64.max))
        let areTaken = (take(&file, whole), take(&file, rest))
        #expect(areTaken == (true, true))
        #expect(file.step(of: whole) == .wait && file.step(of: rest) == .end)
        if let kept {
            file.lost(keeping: kept)
            file.began(path, totalBytes: 1000)
            file.wrote(0..<1000)
        }
        file.named(final)
        #expect(kept != nil || file.step(of: whole) == .wait)
        try enter(&file, .finished(URL(filePath: final)))
        #expect(kept == nil ? file.step(of: whole) == .end : code(file.step(of: whole)) == .resourceChanged)
    }

    // MARK: Discarded bytes

    @Test func `bytes discarded while they are being read are not delivered`() throws {
        var file = file(0..<100)
        let id = file.join(0..<1000)
        let read = try required(file.step(of: id))
        file.lost()
        file.began(path, totalBytes: 1000)
        file.wrote(0..<100)
        let isTaken = file.took(100, of: read, by: id)
        #expect(!isTaken)
        #expect(range(file.step(of: id)) == 0..<100, "nothing was given, so that the new version is read")
    }

    @Test func `a reader that received bytes of another version fails, other readers continue`() {
        var file = file(0..<100)
        let (first, second) = (file.join(0..<1000), file.join(50..<1000))
        file.lost(for: .rangesRefused)
        file.began(path, totalBytes: 1000)
        file.wrote(0..<100)
        let isTaken = take(&file, first)
        #expect(isTaken)
        file.lost(for: .changedEntityTag)
        file.lost(for: .changedLastModified)
        guard case .fail(let error) = file.step(of: first) else {
            Issue.record("the reader does not fail")
            return
        }
        #expect(error.code == .resourceChanged)
        // The restart before the first byte does not matter.
        #expect(error.cause as? RestartReason == .changedEntityTag)
        #expect(file.step(of: second) == .wait)
        #expect(file.demands == [50..<1000])
    }

    @Test func `a reader that received all of its range ends normally, whatever follows`() throws {
        var file = file(0..<100)
        let id = file.join(20..<40)
        let isTaken = take(&file, id)
        #expect(isTaken)
        file.lost()
        try enter(&file, .cancelled)
        #expect(file.step(of: id) == .end)
    }

    @Test func `if parts are discarded, only readers without bytes of them continue`() {
        var file = file(0..<100, 500..<600)
        let (kept, lost, waiting) = (file.join(0..<1000), file.join(550..<1000), file.join(700..<1000))
        let areTaken = (take(&file, kept), take(&file, lost))
        #expect(areTaken == (true, true))
        file.lost(keeping: ByteRangeSet([0..<100]))
        #expect(file.step(of: kept) == .wait && file.step(of: waiting) == .wait)
        #expect(code(file.step(of: lost)) == .resourceChanged)
        file.wrote(100..<200)
        #expect(range(file.step(of: kept)) == 100..<200)
    }

    @Test(arguments: [true, false])
    func `between two sessions the file is read while its stamp matches`(_ isSame: Bool) {
        var file = file(0..<100)
        let (reader, other) = (file.join(0..<1000), file.join(200..<1000))
        file.kept(stamp)
        file.closed()
        guard case .read(let read) = file.step(of: reader), read.proof == .stamp(stamp) else {
            Issue.record("nothing to read")
            return
        }
        let isTaken = file.took(100, of: read, by: reader)
        #expect(isTaken)
        file.opened(path, ByteRangeSet([0..<250]), totalBytes: 1000, isSame: isSame)
        #expect(range(file.step(of: reader)) == (isSame ? 100..<250 : nil))
        #expect(code(file.step(of: reader)) == (isSame ? nil : .resourceChanged))
        #expect(range(file.step(of: other)) == 200..<250)
    }

    @Test func `bytes that a session does not keep are gone`() {
        var file = file(0..<100)
        let id = file.join(0..<1000)
        file.closed()
        #expect(file.step(of: id) == .wait)
        file.opened(path, ByteRangeSet(), totalBytes: nil, isSame: false)
        file.wrote(0..<50)
        #expect(range(file.step(of: id)) == 0..<50)
    }

    @Test func `the state of an ended download takes precedence over its discarded bytes`() throws {
        var file = file(0..<100)
        let id = file.join(0..<1000)
        let isTaken = take(&file, id)
        file.closed()
        try enter(&file, .cancelled)
        #expect(isTaken && code(file.step(of: id)) == .cancelled)
    }

    // MARK: Names and ends

    @Test func `a file that was renamed is opened under its new name`() throws {
        var file = file(0..<1000)
        let id = file.join(0..<1000)
        let read = try required(file.step(of: id))
        file.strayed(read, by: id)
        #expect(file.step(of: id) == .wait)
        file.named(final)
        let again = try required(file.step(of: id))
        #expect(again.path == final && again.generation == read.generation)
        file.strayed(read, by: id)
        #expect(file.step(of: id) != .wait, "what was true of the old name is of no interest")
    }

    @Test func `a finished file of an unobserved download is read to its end`() throws {
        var file = ReadableFile()
        let id = file.join(0..<Int64.max)
        #expect(file.step(of: id) == .wait)
        try enter(&file, .finished(URL(filePath: final)))
        #expect(range(file.step(of: id)) == 0..<256 << 10)
        let isTaken = take(&file, id, count: 700)
        #expect(isTaken && file.step(of: id) == .end)
    }

    @Test func `an empty file ends at once`() throws {
        var file = ReadableFile()
        let id = file.join(0..<Int64.max)
        try enter(&file, .finished(URL(filePath: final)))
        let isTaken = take(&file, id, count: 0)
        #expect(!isTaken && file.step(of: id) == .end)
    }

    @Test func `a file shorter than the bytes written fails`() {
        var file = file(0..<100)
        let id = file.join(0..<1000)
        let isTaken = take(&file, id, count: 40)
        #expect(!isTaken && code(file.step(of: id)) == .fileSystem)
    }

    @Test func `a reader behind the end of a finished file does not determine its size`() throws {
        var file = ReadableFile()
        try enter(&file, .finished(URL(filePath: final)))
        let (behind, whole) = (file.join(5000..<6000), file.join(0..<Int64.max))
        let isTaken = take(&file, behind, count: 0)
        #expect(!isTaken && file.step(of: behind) == .end)
        let isRead = take(&file, whole, count: 700)
        #expect(isRead && file.step(of: whole) == .end)
    }

    @Test func `a finished file that another program has shortened fails`() throws {
        var file = file(0..<1000)
        file.named(final)
        try enter(&file, .finished(URL(filePath: final)))
        let id = file.join(0..<Int64.max)
        let isTaken = take(&file, id, count: 700)
        #expect(!isTaken && code(file.step(of: id)) == .fileSystem)
    }

    @Test func `a copy that gets the final name is opened`() throws {
        var file = file(0..<1000)
        let id = file.join(0..<1000)
        let read = try required(file.step(of: id))
        file.named(final, isCopy: true)
        let isTaken = file.took(100, of: read, by: id)
        #expect(!isTaken)
        let again = try required(file.step(of: id))
        #expect(again.path == final && again.generation != read.generation && again.range == read.range)
    }

    @Test func `a reader continues after the rename, but not with another file of that name`() throws {
        for (name, isOwn) in [(final, true), ("/folder/other.bin", false)] {
            var file = file(0..<1000)
            let (reader, late) = (file.join(0..<1000), file.join(0..<2000))
            let read = try required(file.step(of: reader))
            file.named(final)
            try enter(&file, .finished(URL(filePath: name)))
            let isHandedOut = file.took(1000, of: read, by: reader)
            #expect(isHandedOut == isOwn)
            #expect(range(file.step(of: late)) == (isOwn ? 0..<1000 : 0..<2000))
        }
    }

    @Test func `a failure ends all readers, even those that joined before a retry`() throws {
        let error = DownloadError(.httpStatus, "gone")
        var file = file(0..<100)
        let early = file.join(0..<1000)
        try enter(&file, .failed(error))
        let late = file.join(0..<1000)
        try enter(&file, .waiting)
        let again = file.join(0..<1000)
        #expect(file.step(of: early) == .fail(error) && file.step(of: late) == .fail(error))
        #expect(range(file.step(of: again)) == 0..<100)
        #expect(file.demands == [0..<1000])
    }

    @Test func `a finished file that is downloaded again is another version`() throws {
        var file = file(0..<100)
        let (given, none) = (file.join(0..<1000), file.join(500..<1000))
        let isTaken = take(&file, given)
        file.wrote(100..<1000)
        file.named(final)
        try enter(&file, .finished(URL(filePath: final)))
        #expect(isTaken && range(file.step(of: given)) == 100..<1000 && range(file.step(of: none)) == 500..<1000)
        try enter(&file, .waiting)
        #expect(code(file.step(of: given)) == .resourceChanged)
        #expect(file.step(of: none) == .wait)
    }

    // MARK: Demands

    @Test func `the latest reader has priority, and finished readers demand nothing`() {
        var file = file(0..<300)
        let first = file.join(0..<1000)
        let second = file.join(600..<2000)
        #expect(file.demands == [600..<1000, 0..<1000])
        let isTaken = take(&file, first)
        #expect(isTaken && file.demands == [600..<1000, 300..<1000])
        file.leave(second)
        #expect(file.demands == [300..<1000] && file.step(of: second) == .end)
        file.leave(first)
        #expect(file.demands.isEmpty && !file.isRead)
    }
}
