#if os(Linux)
/// What tells one run of the kernel from another; empty where it cannot be read.
func readBootID(_ files: FileCalls) -> String {
    let bytes = (try? files.read("/proc/sys/kernel/random/boot_id", 64)) ?? []
    return String(decoding: bytes, as: UTF8.self).filter { !$0.isNewline }
}
#else
import Darwin

/// What tells one run of the kernel from another; empty where it cannot be read.
func readBootID(_ files: FileCalls) -> String {
    var size = 64
    var name = [CChar](repeating: 0, count: size)
    guard sysctlbyname("kern.bootsessionuuid", &name, &size, nil, 0) == 0 else { return "" }
    return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
}
#endif
