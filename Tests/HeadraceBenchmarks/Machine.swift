import HeadracePlatform

/// The machine and its load, without which the figures mean nothing.
struct Machine: Sendable {
    let cores: Int
    let cpu: String
    let kernel: String
    /// The load average of the last minute before the start, which shows other work.
    let load: Double
    let date: String

    /// The state at the start of the tool, before it adds load of its own.
    static let atStart = current()

    private static func current() -> Machine {
        var name = utsname()
        uname(&name)
        let system = withUnsafeBytes(of: &name.sysname, text)
        let release = withUnsafeBytes(of: &name.release, text)
        let architecture = withUnsafeBytes(of: &name.machine, text)
        var loads = [0.0]
        getloadavg(&loads, 1)
        return Machine(
            cores: sysconf(Int32(_SC_NPROCESSORS_ONLN)),
            cpu: cpuModel(),
            kernel: "\(system) \(release) \(architecture)",
            load: loads[0],
            date: Format.now()
        )
    }

    var json: JSON {
        .object([
            ("cores", .integer(cores)), ("cpu", .string(cpu)), ("kernel", .string(kernel)), ("load", .number(load)),
        ])
    }

    private static func text(_ bytes: UnsafeRawBufferPointer) -> String {
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }

    private static func cpuModel() -> String {
        #if canImport(Darwin)
        var size = 256
        var buffer = [UInt8](repeating: 0, count: size)
        guard sysctlbyname("machdep.cpu.brand_string", &buffer, &size, nil, 0) == 0 else { return "unknown" }
        return String(decoding: buffer.prefix { $0 != 0 }, as: UTF8.self)
        #else
        // ARM kernels report no model; the implementer's number is better than nothing.
        let lines = FileSystem.text(of: "/proc/cpuinfo", limit: 4_096).split(separator: "\n")
        let line = ["model name", "CPU implementer"].lazy.compactMap { key in lines.first { $0.hasPrefix(key) } }.first
        guard let line, let colon = line.firstIndex(of: ":") else { return "unknown" }
        return String(line[line.index(after: colon)...].drop { $0 == " " })
        #endif
    }
}
