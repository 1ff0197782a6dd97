import HeadracePlatform

/// The limit on open file descriptors; for our own programs only, as a library must not change it.
package enum DescriptorLimit {
    #if canImport(Darwin)
    /// `OPEN_MAX`, the highest limit that the system accepts.
    private static let most: rlim_t = 10_240
    #else
    private static let most: rlim_t = 65_536
    #endif

    /// Raises the limit as far as the system allows; on Linux, Dispatch crashes if it cannot open a descriptor.
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
