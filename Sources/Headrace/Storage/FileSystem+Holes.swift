import HeadracePlatform

#if os(Linux)
import CHeadrace
#endif

/// Detects lost writes. If a disk is unplugged, or a file system fails and is mounted again, writes can be lost without
/// a reboot; the files are then too short or have holes.
extension FileSystem {
    /// Returns the ranges of an open file that are not holes; the whole file if the file system does not report holes.
    func dataRanges(_ file: Int32, size: Int64) throws(SystemError) -> ByteRangeSet {
        do throws(SystemError) {
            var data = ByteRangeSet()
            while let next = try dataRange(file, data.end), next.upperBound > data.end { data.insert(next) }
            return data
        } catch  where error.isUnsupported || error.errno == EINVAL || error.errno == ENOTTY {
            return ByteRangeSet([0..<size])
        }
    }

    /// Returns the number of bytes in a file that are not in holes, such as the gaps between received ranges.
    ///
    /// Returns the size of the file if the holes cannot be determined.
    func dataCount(_ path: String, _ status: FileStatus) -> Int64 {
        guard let file = try? openForReading(path) else { return status.size }
        defer { try? close(file) }
        return (try? dataRanges(file, size: status.size))?.count ?? status.size
    }

    /// Returns the parts of the written ranges that an open file still contains.
    ///
    /// Durable ranges are only compared with the size of the file, but not with its holes. If any other range seems
    /// lost, the file is synced and checked again; if the sync fails, all ranges that are not durable count as lost.
    func found(
        _ written: ByteRangeSet,
        durable: ByteRangeSet,
        in file: Int32,
        size: Int64
    ) throws(SystemError) -> ByteRangeSet {
        var found = written.found(in: try dataRanges(file, size: size), durable: durable)
        if found != written {
            // Some file systems report a hole until the bytes are on the disk. Bytes of a failed sync never get there.
            let data = (try? sync(file)) == nil ? ByteRangeSet() : try dataRanges(file, size: size)
            found = written.found(in: data, durable: durable)
        }
        found.truncate(to: size)
        return found
    }
}

extension ByteRangeSet {
    /// The largest common block size of a file system, in bytes.
    private static let blockBytes: Int64 = 64 << 10

    /// Returns the parts of these ranges that are still in the file to which they were written.
    /// - Parameters:
    ///   - data: The ranges of the file that are not holes.
    ///   - durable: The synced ranges. They are kept even in holes, because a file system may store zeros as a hole.
    /// - Returns: All ranges if none is lost. Otherwise, the durable ranges, and the parts of the other ranges that are
    ///   data, each without its first and last block. A part at the start of the file keeps its first block.
    func found(in data: ByteRangeSet, durable: ByteRangeSet) -> ByteRangeSet {
        let unsynced = ByteRangeSet(ranges.lazy.flatMap(durable.gaps))
        let found = unsynced.intersection(data)
        guard found != unsynced else { return self }
        var intact = intersection(durable)
        for range in found.ranges {
            // If two writes filled a block, it may have reached the disk with only the first of them.
            let start = range.lowerBound == 0 ? 0 : range.lowerBound + Self.blockBytes
            let end = range.upperBound - Self.blockBytes
            if start < end { intact.insert(start..<end) }
        }
        return intact
    }
}

/// Implements ``FileSystem/dataRange``; moves the file's offset, which no other call of `FileSystem` uses.
func nextData(_ file: Int32, from offset: Int64) throws(SystemError) -> Range<Int64>? {
    try nextData(from: offset, size: FileSystem.system.openStatus(file).size) { offset throws(SystemError) in
        try position { seekData(file, offset) }
    } hole: { offset throws(SystemError) in
        try position { seekHole(file, offset) }
    }
}

/// Returns the first range of data at or after an offset; `nil` if there is none.
///
/// `data` and `hole` seek to the next data or hole at or after an offset, and return `nil` if there is none. `data`
/// is called only within holes, because on APFS a call within data skips that data.
func nextData(
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

/// Performs a seek call, and returns its offset; `nil` if the call found no data or hole (`ENXIO`).
private func position(_ seek: () -> Int64) throws(SystemError) -> Int64? {
    do throws(SystemError) {
        return try checked(seek)
    } catch  where error.errno == ENXIO {
        return nil
    }
}

#if canImport(Darwin)
private func seekData(_ file: Int32, _ offset: Int64) -> Int64 { lseek(file, offset, SEEK_DATA) }

private func seekHole(_ file: Int32, _ offset: Int64) -> Int64 { lseek(file, offset, SEEK_HOLE) }
#else
private func seekData(_ file: Int32, _ offset: Int64) -> Int64 { hr_seek_data(file, offset) }

private func seekHole(_ file: Int32, _ offset: Int64) -> Int64 { hr_seek_hole(file, offset) }
#endif
