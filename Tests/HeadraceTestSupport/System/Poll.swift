import HeadracePlatform

/// Waits for descriptors, handling interruptions and the deadline.
enum Poll {
    /// The event for a peer that has hung up, and nothing else: neither data nor room to write.
    static var hangUp: Int16 {
        #if canImport(Darwin)
        // Darwin always reports a hang-up, even of one direction, and has no flag to request it.
        0
        #elseif canImport(Musl)
        Int16(POLLRDHUP)
        #else
        // Glibc defines the flag only under a feature macro that the importer may not have set.
        0x2000
        #endif
    }

    /// Waits until a descriptor is ready; `false` on a time-out.
    static func wait(for descriptors: inout [pollfd], timeout: Duration? = nil) -> Bool {
        let deadline = timeout.map { ContinuousClock.now + $0 }
        while true {
            let milliseconds = deadline.map { Poll.milliseconds(until: $0) } ?? -1
            let count = poll(&descriptors, nfds_t(descriptors.count), milliseconds)
            if count > 0 { return true }
            if count < 0, errno != EINTR { return true }
            if let deadline, ContinuousClock.now >= deadline { return false }
        }
    }

    /// The remaining whole milliseconds, rounded up, so that a wait is never too short.
    private static func milliseconds(until deadline: ContinuousClock.Instant) -> Int32 {
        let remaining = ContinuousClock.now.duration(to: deadline)
        guard remaining > .zero else { return 0 }
        let parts = remaining.components
        let fraction = (parts.attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        return Int32(clamping: parts.seconds.multipliedReportingOverflow(by: 1_000).partialValue + fraction)
    }
}
