#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The descriptors of the process, before it opens any of its own.
enum Descriptors {
    #if canImport(Darwin)
    /// OPEN_MAX, beyond which the system takes no limit.
    private static let most: rlim_t = 10_240
    #else
    private static let most: rlim_t = 65_536
    #endif

    /// Takes the places of standard streams that are closed: a file that got one of their numbers would be written to.
    static func holdStandardStreams() {
        for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) == -1 {
            // The lowest free number is this one. In the other direction, each use fails as that of a closed one does.
            _ = open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// Allows as many descriptors as the system lets the process have: on Linux, Dispatch traps where it gets none.
    static func allowMany() {
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
