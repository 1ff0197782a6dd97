/// A download whose file calls fail in turn.
struct FaultScenario: Sendable {
    let name: String
    /// The size of the file in bytes.
    let size: Int
    var arguments: [String] = []
    var hasChecksum = false
    /// Whether an earlier run left a partial file.
    var isResumed = false
    /// Whether an existing file has the final name.
    var isReplacing = false

    static let all = [
        FaultScenario(name: "one", size: 1 << 20, arguments: ["-x", "1"]),
        FaultScenario(name: "several", size: 8 << 20, arguments: ["-x", "4"]),
        FaultScenario(name: "checksum", size: 1 << 20, arguments: ["-x", "1"], hasChecksum: true),
        FaultScenario(name: "sync", size: 1 << 20, arguments: ["-x", "1", "--sync"]),
        FaultScenario(name: "resume", size: 4 << 20, arguments: ["-x", "1"], isResumed: true),
        FaultScenario(name: "resume-sync", size: 4 << 20, arguments: ["-x", "1", "--sync"], isResumed: true),
        FaultScenario(name: "small", size: 1_000),
        FaultScenario(
            name: "replace",
            size: 1 << 20,
            arguments: ["-x", "1", "--if-exists", "overwrite"],
            isReplacing: true
        ),
    ]

    static var names: String { all.map(\.name).joined(separator: ", ") }
}

/// The fault at a file call.
enum FaultKind: String, Sendable, CaseIterable {
    case kill = "SIGKILL"
    case inputOutput = "EIO"
    case diskFull = "ENOSPC"
    /// A signal interrupts the call, which must be repeated.
    case interrupted = "EINTR"
}
