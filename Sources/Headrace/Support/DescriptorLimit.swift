import HeadracePlatform

/// The limit on file descriptors of the process.
package enum DescriptorLimit {
    #if canImport(Darwin)
    /// `OPEN_MAX`, the highest limit that the system accepts.
    private static let maximum: rlim_t = 10_240
    #else
    private static let maximum: rlim_t = 65_536
    #endif

    /// The number of consecutive unused descriptors after which the search for used ones stops.
    ///
    /// The system always assigns the lowest unused number, so a long gap is probably the end.
    private static let maxGap = 256

    /// Raises the process's descriptor limit to 65,536 (10,240 on Apple platforms), or as far as the hard limit allows.
    ///
    /// For programs only, since a library must not change the limits of its process.
    package static func raise() {
        guard var limit = current else { return }
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, maximum))
        setrlimit(resource, &limit)
    }

    /// Returns the number of descriptors that the process may still open.
    ///
    /// Opens no descriptor; checks each number until ``maxGap`` in a row are unused, which takes about 20 microseconds.
    package static func free() -> Int {
        guard let current else { return .max }
        let limit = Int32(clamping: current.rlim_cur)
        var (number, used, gap): (Int32, Int, Int) = (0, 0, 0)
        while number < limit, gap < maxGap {
            let isUsed = fcntl(number, F_GETFD) != -1
            used += isUsed ? 1 : 0
            gap = isUsed ? 0 : gap + 1
            number += 1
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
