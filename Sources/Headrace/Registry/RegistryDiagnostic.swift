/// What reading a list of downloads came upon that is not as it was written, or not of this release.
enum RegistryDiagnostic: Sendable, Hashable {
    /// A line whose checksum is wrong, so many bytes long: what it told is missing.
    case damagedLine(Int, bytes: Int)
    /// A line whose checksum is right and that is no change.
    case unreadableLine(Int)
    /// So many downloads of a line that cannot be.
    case invalidEntries(line: Int, count: Int)
    /// What a later release has put into a line.
    case unknown(String, line: Int)
    /// Downloads that later lines tell of and no line has added; only where other lines are damaged.
    case missing([UInt64])
    /// The end of a line that was being written when the process or the machine stopped.
    case torn(bytes: Int64)
}

extension RegistryDiagnostic: CustomStringConvertible {
    /// One sentence for a person.
    var description: String {
        switch self {
        case .damagedLine(1, _):
            "Line 1, which tells the version, is damaged."
        case .damagedLine(let line, let bytes):
            "Line \(line) is damaged: what its \(bytes) bytes told is missing."
        case .unreadableLine(let line):
            "Line \(line) is no change of a list: it is passed over."
        case .invalidEntries(let line, let count):
            "Line \(line) adds \(count) downloads that cannot be: they are missing."
        case .unknown(let what, let line):
            "Line \(line) has \(what.printable), which this release does not know: it is passed over."
        case .missing(let ids):
            "The list has changes of downloads that it lacks: \(ids.map(\.hexadecimal).joined(separator: ", "))."
        case .torn(let bytes):
            "The last line was not written to its end: its \(bytes) bytes are dropped."
        }
    }

    /// Whether something is lost, or would be if the list were written anew.
    var isLoss: Bool {
        if case .torn = self { false } else { true }
    }

    fileprivate var isDamage: Bool {
        switch self {
        case .damagedLine, .unreadableLine, .invalidEntries: true
        case .unknown, .missing, .torn: false
        }
    }
}

/// What reading a list came upon: the first of each kind, up to a bound, and how many more.
struct RegistryDiagnostics: Sendable, Equatable {
    static let maxCount = 100

    /// In the order of the lines.
    private(set) var list: [RegistryDiagnostic] = []
    /// How many more there were.
    private(set) var omittedCount = 0
    private var unknown: Set<String> = []
    private var missing: Set<UInt64> = []

    /// Whether something is lost, or would be if the list were written anew.
    var hasLoss: Bool { list.contains(where: \.isLoss) }

    /// A sentence for each, and how many more there are.
    var sentences: [String] {
        list.map(\.description) + (omittedCount > 0 ? ["There is more of the like: \(omittedCount)."] : [])
    }

    /// Those of a list that another process may be writing to: a line that is not at its end yet is none.
    var ofReader: RegistryDiagnostics {
        var findings = self
        findings.list.removeAll { !$0.isLoss }
        return findings
    }

    mutating func note(_ finding: RegistryDiagnostic) {
        guard list.count < Self.maxCount else {
            omittedCount += 1
            return
        }
        list.append(finding)
    }

    /// Of the same thing in many lines, the first is noted.
    mutating func note(unknown what: String, line: Int) {
        guard unknown.count < Self.maxCount, unknown.insert(String(what.prefix(100))).inserted else { return }
        note(.unknown(String(what.prefix(100)), line: line))
    }

    /// Downloads that the list does not have when they are changed.
    mutating func miss(_ ids: [UInt64]) {
        for id in ids where missing.count < Self.maxCount { missing.insert(id) }
    }

    /// Downloads that came in or left: nobody misses them any more.
    mutating func settle(_ ids: some Sequence<UInt64>) {
        guard !missing.isEmpty else { return }
        missing.subtract(ids)
    }

    /// Adds what only the end tells.
    mutating func finish(tornBytes: Int64) {
        if !missing.isEmpty, list.contains(where: \.isDamage) { note(.missing(missing.sorted())) }
        if tornBytes > 0 { note(.torn(bytes: tornBytes)) }
        (missing, unknown) = ([], [])
    }
}
