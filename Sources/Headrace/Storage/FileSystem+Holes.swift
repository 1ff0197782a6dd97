import HeadracePlatform

#if os(Linux)
import CHeadrace
#endif

/// What a disk has of bytes that the kernel took: one that is pulled and comes back, or a file system that fails and is
/// mounted again, has lost writes in the same boot, and its files are short or have holes there.
extension FileSystem {
    /// The bytes of an open file that are in no hole: all, where its file system does not tell.
    func dataRanges(_ file: Int32, size: Int64) throws(SystemError) -> ByteRangeSet {
        do throws(SystemError) {
            var data = ByteRangeSet()
            while let next = try dataRange(file, data.end), next.upperBound > data.end { data.insert(next) }
            return data
        } catch  where error.isUnsupported || error.errno == EINVAL || error.errno == ENOTTY {
            return ByteRangeSet([0..<size])
        }
    }

    /// What an open file of a size has of bytes that were written to it; of the durable ones only the size decides.
    func found(
        _ written: ByteRangeSet,
        durable: ByteRangeSet,
        in file: Int32,
        size: Int64
    ) throws(SystemError) -> ByteRangeSet {
        var found = written.found(in: try dataRanges(file, size: size), durable: durable)
        if found != written {
            // Some file systems tell of a hole until the bytes are on the disk; those of a failed sync never get there.
            let data = (try? sync(file)) == nil ? ByteRangeSet() : try dataRanges(file, size: size)
            found = written.found(in: data, durable: durable)
        }
        found.truncate(to: size)
        return found
    }

    /// The system's ``dataRange``, which moves the file's own offset, that no other call here goes by.
    static func nextData(_ file: Int32, from offset: Int64) throws(SystemError) -> Range<Int64>? {
        try nextData(from: offset, size: system.openStatus(file).size) { offset throws(SystemError) in
            try position(seekData(file, offset))
        } hole: { offset throws(SystemError) in
            try position(seekHole(file, offset))
        }
    }

    /// The first run of data at or after an offset of a file, by two calls that answer nil where they find nothing.
    ///
    /// On APFS `data` passes over the data that it begins in, so that it is asked in holes alone, and `hole` finds nothing
    /// where the rest of the file is data.
    static func nextData(
        from offset: Int64,
        size: Int64,
        data: (_ offset: Int64) throws(SystemError) -> Int64?,
        hole: (_ offset: Int64) throws(SystemError) -> Int64?
    ) throws(SystemError) -> Range<Int64>? {
        var start = offset
        var end = try hole(start) ?? size
        if end <= start {
            guard let next = try data(start) else { return nil }
            start = next
            end = try hole(start) ?? size
        }
        return start..<max(start, end)
    }
}

extension ByteRangeSet {
    /// The largest block that is usual.
    private static let blockBytes: Int64 = 64 << 10

    /// What is left of bytes that were written to a file.
    /// - Parameters:
    ///   - data: The bytes of the file that are in no hole.
    ///   - durable: Those that were synced; of zeros a file system may make a hole.
    /// - Returns: All of them where none is lost; else the durable ones, and the found but for the blocks at their edges.
    func found(in data: ByteRangeSet, durable: ByteRangeSet) -> ByteRangeSet {
        let unsynced = ByteRangeSet(ranges.lazy.flatMap(durable.gaps))
        let found = unsynced.intersection(data)
        guard found != unsynced else { return self }
        var kept = intersection(durable)
        for range in found.ranges {
            // A block that was filled by two writes may have reached the disk between them.
            let start = range.lowerBound == 0 ? 0 : range.lowerBound + Self.blockBytes
            let end = range.upperBound - Self.blockBytes
            if start < end { kept.insert(start..<end) }
        }
        return kept
    }
}

/// What a seek answered; nil where there is nothing of what it looked for.
private func position(_ result: Int64) throws(SystemError) -> Int64? {
    guard result < 0 else { return result }
    guard errno == ENXIO else { throw SystemError(errno: errno) }
    return nil
}

#if canImport(Darwin)
private func seekData(_ file: Int32, _ offset: Int64) -> Int64 { lseek(file, offset, SEEK_DATA) }

private func seekHole(_ file: Int32, _ offset: Int64) -> Int64 { lseek(file, offset, SEEK_HOLE) }
#else
private func seekData(_ file: Int32, _ offset: Int64) -> Int64 { hr_seek_data(file, offset) }

private func seekHole(_ file: Int32, _ offset: Int64) -> Int64 { hr_seek_hole(file, offset) }
#endif
