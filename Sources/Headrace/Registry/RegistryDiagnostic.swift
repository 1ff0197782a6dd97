/// A problem found while a journal was read: damage, or something that this release does not know.
enum RegistryDiagnostic: Sendable, Hashable {
    /// The line with this number and this length in bytes is damaged; its changes or, for line 1, the version are lost.
    case damagedLine(Int, bytes: Int)
    /// A line with a correct checksum that is not a valid change.
    case unreadableLine(Int)
    /// A part of a line that this release does not know, described by the text; it was skipped.
    case unknown(String, line: Int)
    /// Downloads that were changed but never added; only reported if other lines are damaged.
    case missing([UInt64])
    /// An incomplete last line, left by a process or machine that stopped while writing it, or still being written.
    case torn(bytes: Int64)
}

extension RegistryDiagnostic: CustomStringConvertible {
    /// One sentence for the user.
    var description: String {
        switch self {
        case .damagedLine(1, _):
            "Line 1, which contains the version, is damaged."
        case .damagedLine(let line, let bytes):
            "Line \(line) is damaged: the changes in its \(bytes) bytes are lost."
        case .unreadableLine(let line):
            "Line \(line) is not a valid change of a queue: it was skipped."
        case .unknown(let what, let line):
            "Line \(line) has \(what.printable), which this release does not know: it was skipped."
        case .missing(let ids):
            "The queue has changes of missing downloads: \(ids.map(\.hexadecimal).joined(separator: ", "))."
        case .torn(let bytes):
            "The last line is incomplete: its \(bytes) bytes were dropped."
        }
    }

    /// Whether information is lost, or would be lost if the journal were rewritten.
    var isLoss: Bool {
        if case .torn = self { false } else { true }
    }

    fileprivate var isDamage: Bool {
        switch self {
        case .damagedLine, .unreadableLine: true
        case .unknown, .missing, .torn: false
        }
    }
}

/// The problems found while a journal was read: a limited list, and the number of problems omitted from it.
struct RegistryDiagnostics: Sendable, Equatable {
    static let maxCount = 100

    /// The problems in the order of the lines.
    private(set) var list: [RegistryDiagnostic] = []
    /// The number of problems that are not in ``list``.
    private(set) var omittedCount = 0
    private var unknown: Set<String> = []
    private var missing: Set<UInt64> = []

    /// Whether information is lost, or would be lost if the journal were rewritten.
    var hasLoss: Bool { list.contains(where: \.isLoss) }

    /// One sentence for each problem in ``list``, and one for the number of omitted problems.
    var sentences: [String] {
        list.map(\.description) + (omittedCount > 0 ? ["Further problems were found: \(omittedCount)."] : [])
    }

    /// The problems to report to a process that only reads the journal: all except an incomplete last line, which the
    /// owner may still be writing.
    var ofReader: RegistryDiagnostics {
        var findings = self
        findings.list.removeAll { !$0.isLoss }
        return findings
    }

    mutating func record(_ finding: RegistryDiagnostic) {
        guard list.count < Self.maxCount else {
            omittedCount += 1
            return
        }
        list.append(finding)
    }

    /// Records something that this release does not know, described by the first 100 characters of a text.
    ///
    /// Does nothing if the same text, or ``maxCount`` other texts, were recorded before.
    mutating func record(unknown what: String, line: Int) {
        guard unknown.count < Self.maxCount, unknown.insert(String(what.prefix(100))).inserted else { return }
        record(.unknown(String(what.prefix(100)), line: line))
    }

    /// Records that changes were found for downloads that are not in the queue, up to ``maxCount`` of them.
    mutating func recordMissing(_ ids: [UInt64]) {
        for id in ids where missing.count < Self.maxCount { missing.insert(id) }
    }

    /// Stops reporting downloads as missing, because a later line adds or removes them.
    mutating func forgetMissing(_ ids: some Sequence<UInt64>) {
        guard !missing.isEmpty else { return }
        missing.subtract(ids)
    }

    /// Adds the problems known only at the end of the journal; `tornBytes` is the size of an incomplete last line or 0.
    mutating func finish(tornBytes: Int64) {
        if !missing.isEmpty, list.contains(where: \.isDamage) { record(.missing(missing.sorted())) }
        if tornBytes > 0 { record(.torn(bytes: tornBytes)) }
        (missing, unknown) = ([], [])
    }
}
