import HeadracePlatform

/// The identifier of the current boot; empty if the system has none.
///
/// Cached, since it cannot change while the process runs.
enum BootID {
    private static let known = Locked<String?>(nil)

    static func current() throws(SystemError) -> String {
        if let known = known.withLock({ $0 }) { return known }
        let bootID = try read()
        known.withLock { $0 = bootID }
        return bootID
    }

    #if os(Linux)
    private static func read() throws(SystemError) -> String {
        let path = "/proc/sys/kernel/random/boot_id"
        do {
            return String(decoding: try FileSystem.system.read(path, 64), as: UTF8.self).filter { !$0.isNewline }
        } catch  where error.errno == ENOENT {
            return ""
        }
    }
    #else
    private static func read() throws(SystemError) -> String {
        var size = 64
        var name = [CChar](repeating: 0, count: size)
        guard sysctlbyname("kern.bootsessionuuid", &name, &size, nil, 0) == 0 else { return "" }
        return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
    #endif
}
