import HeadracePlatform

/// The limit on file descriptors of the process.
package enum DescriptorLimit {
    #if canImport(Darwin)
    /// `OPEN_MAX`, the highest limit that the system accepts.
    private static let maximum: rlim_t = 10_240
    #else
    private static let maximum: rlim_t = 65_536
    #endif

    /// The number of descriptors that one system call checks; the search ends at a block in which none is open.
    ///
    /// The system always assigns the lowest unused number, so no descriptor is likely to be open after such a block.
    private static let blockSize = 256

    /// Raises the process's descriptor limit to 65,536 (10,240 on Apple platforms), or as far as the hard limit allows.
    ///
    /// For programs only, since a library must not change the limits of its process.
    package static func raise() {
        guard var limit = current else { return }
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, maximum))
        setrlimit(resource, &limit)
    }

    /// Returns an estimate of the number of descriptors that the process may still open; `Int.max` if the limit is
    /// unknown.
    ///
    /// Opens no descriptor; takes a few microseconds, with one system call for each ``blockSize`` numbers.
    package static func free() -> Int {
        guard let current else { return .max }
        let limit = Int32(clamping: current.rlim_cur)
        var used = 0
        for start in stride(from: 0, to: limit, by: blockSize) {
            var block = (start..<min(start + Int32(blockSize), limit)).map { pollfd(fd: $0, events: 0, revents: 0) }
            // An unused descriptor is reported at once, as an event of its own.
            while poll(&block, nfds_t(block.count), 0) == -1, errno == EINTR {}
            let usedInBlock = block.count { $0.revents & Int16(POLLNVAL) == 0 }
            used += usedInBlock
            if usedInBlock == 0 { break }
        }
        return Int(limit) - used
    }

    private static var current: rlimit? {
        var limit = rlimit()
        return getrlimit(resource, &limit) == 0 ? limit : nil
    }

    #if canImport(Glibc)
    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
    private static let resource = RLIMIT_NOFILE
    #endif
}
