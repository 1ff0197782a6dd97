import HeadracePlatform
import Synchronization

/// The memory and descriptors of this process.
enum ProcessUsage {
    /// The current resident size in bytes, or the peak if the system has no `/proc`.
    static var residentBytes: Int {
        let pages = FileSystem.text(of: "/proc/self/statm", limit: 256).split(separator: " ").dropFirst().first
        guard let pages = pages.flatMap({ Int($0) }) else { return peakResidentBytes }
        return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    static var peakResidentBytes: Int {
        var usage = rusage()
        #if canImport(Darwin)
        getrusage(RUSAGE_SELF, &usage)
        return Int(usage.ru_maxrss)
        #else
        // RUSAGE_SELF, whose type differs between C libraries.
        getrusage(0, &usage)
        return Int(usage.ru_maxrss) * 1024
        #endif
    }

    static var descriptorCount: Int {
        // Excludes the descriptor of the listing itself.
        (try? FileSystem.names(in: "/dev/fd").count - 1) ?? 0
    }
}

/// Samples the number of descriptors of this process continuously, on a thread.
final class DescriptorWatch: Sendable {
    private let most = Mutex(0)

    init() throws {
        try SystemThread.start { [weak self] in
            while let self {
                let count = ProcessUsage.descriptorCount
                most.withLock { $0 = max($0, count) }
                usleep(2_000)
            }
        }
    }

    var peak: Int { most.withLock { $0 } }
}
