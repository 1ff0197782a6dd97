import HeadracePlatform

/// The permission for network namespaces to use cubic, which is the congestion control of most servers.
///
/// Only a namespace of the whole machine can grant it. If it was not granted yet, it is withdrawn as soon as the
/// namespaces of the lines have made use of it.
struct CubicPermit {
    private static let folder = "/proc/sys/net/ipv4/"
    private static let name = "cubic"

    /// The setting of the machine, and its original value; `nil` if it needs no change.
    private let original: (descriptor: Int32, value: String)?

    /// Grants the permission; throws the reason why that is impossible.
    init() throws {
        func words(_ file: String) -> [Substring] {
            FileSystem.text(of: Self.folder + file).split { $0 == " " || $0 == "\n" }
        }
        guard words("tcp_available_congestion_control").contains(Substring(Self.name)) else {
            throw BenchmarkError("the kernel has no \(Self.name)")
        }
        let allowed = words("tcp_allowed_congestion_control")
        guard !allowed.contains(Substring(Self.name)) else {
            original = nil
            return
        }
        let descriptor = open(Self.folder + "tcp_allowed_congestion_control", O_WRONLY | O_CLOEXEC)
        let value = allowed.joined(separator: " ")
        guard descriptor >= 0, Self.write("\(value) \(Self.name)", to: descriptor) else {
            let reason = BenchmarkError.system(
                "net.ipv4.tcp_allowed_congestion_control lacks \(Self.name), and cannot be changed"
            )
            if descriptor >= 0 { close(descriptor) }
            throw reason
        }
        original = (descriptor, value)
    }

    /// Restores the setting, from any namespace.
    func withdraw() {
        guard let original else { return }
        _ = Self.write(original.value, to: original.descriptor)
        close(original.descriptor)
    }

    private static func write(_ text: String, to descriptor: Int32) -> Bool {
        // The kernel would append to what was written before.
        lseek(descriptor, 0, SEEK_SET)
        var text = text
        return text.withUTF8 { FileSystem.writeAll(UnsafeRawBufferPointer($0), to: descriptor) }
    }
}
