import HeadracePlatform

/// How many descriptors the process may have; for programs of our own, a library leaves it as it is.
package enum DescriptorLimit {
    #if canImport(Darwin)
    /// OPEN_MAX, beyond which the system takes no limit.
    private static let most: rlim_t = 10_240
    #else
    private static let most: rlim_t = 65_536
    #endif

    /// Allows as many as the system lets the process have: on Linux, Dispatch traps where it gets none.
    package static func raise() {
        var limit = rlimit()
        #if canImport(Glibc)
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
        let resource = RLIMIT_NOFILE
        #endif
        guard getrlimit(resource, &limit) == 0 else { return }
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, most))
        setrlimit(resource, &limit)
    }
}
