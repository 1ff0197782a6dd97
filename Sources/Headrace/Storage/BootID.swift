#if !os(Linux)
import Darwin
#endif

/// Read once: it cannot change while the process lives.
private let known = Locked<String?>(nil)

/// What tells one run of the kernel from another; empty where the system does not tell.
func readBootID(_ files: FileCalls) throws(SystemError) -> String {
    if let known = known.withLock({ $0 }) { return known }
    let bootID = try askForBootID(files)
    known.withLock { $0 = bootID }
    return bootID
}

#if os(Linux)
private func askForBootID(_ files: FileCalls) throws(SystemError) -> String {
    let path = "/proc/sys/kernel/random/boot_id"
    guard try files.status(path) != nil else { return "" }
    return String(decoding: try files.read(path, 64), as: UTF8.self).filter { !$0.isNewline }
}
#else
private func askForBootID(_ files: FileCalls) throws(SystemError) -> String {
    var size = 64
    var name = [CChar](repeating: 0, count: size)
    guard sysctlbyname("kern.bootsessionuuid", &name, &size, nil, 0) == 0 else { return "" }
    return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
}
#endif
