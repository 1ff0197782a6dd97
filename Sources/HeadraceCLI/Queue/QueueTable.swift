import Headrace
import HeadracePlatform

/// The queue as a table: a line of headings, then one for each download.
struct QueueTable: Sendable {
    private struct Column {
        let heading: String
        var alignment = String.Alignment.leading
        let cells: [String]
    }

    private static let minDigits = 8

    private let columns: [Column]
    private let last: [String]

    /// Creates the table of the given downloads.
    /// - Parameters:
    ///   - all: The whole queue; short ids have enough digits to be unique in it.
    ///   - shown: The downloads to show.
    ///   - now: The current time; the start time of a download is shown if it is later than `now`.
    init(_ all: [DownloadSnapshot], shown: Set<Download.ID>, now: Date) {
        let digits = Self.digits(of: all.map(\.id.description))
        let snapshots = all.filter { shown.contains($0.id) }
        var columns = [
            Column(heading: "", alignment: .trailing, cells: snapshots.map { $0.shownNumber ?? "" }),
            Column(heading: "ID", cells: snapshots.map { String($0.id.description.prefix(digits)) }),
            Column(heading: "STATE", cells: snapshots.map(\.state.kind.rawValue)),
            Column(
                heading: "DONE",
                alignment: .trailing,
                cells: snapshots.map { $0.progress.fractionCompleted.map(Format.percent) ?? "" }
            ),
            Column(heading: "SIZE", alignment: .trailing, cells: snapshots.map(Self.size)),
        ]
        if snapshots.contains(where: { $0.priority != .normal }) {
            columns.append(
                Column(heading: "PRIORITY", alignment: .trailing, cells: snapshots.map { Self.name(of: $0.priority) })
            )
        }
        // Columns without content are left out: little is known about downloads that never ran.
        self.columns = columns.filter { column in column.cells.contains { !$0.isEmpty } }
        last = ["NAME"] + snapshots.map { Self.description(of: $0, now: now) }
    }

    /// Returns the lines of the table; their last cells are shortened to fit `width` columns, unless that is `nil`.
    func lines(width: Int?) -> [String] {
        var lines = Array(repeating: "", count: last.count)
        for column in columns {
            let cells = [column.heading] + column.cells
            let width = cells.map(\.displayWidth).max() ?? 0
            for (index, cell) in cells.enumerated() {
                lines[index] += cell.fitted(to: width, alignment: column.alignment) + "  "
            }
        }
        return zip(lines, last).map { line, last in
            (line + last.shortened(to: width.map { max(1, $0 - line.displayWidth) } ?? .max)).printable
        }
    }

    /// Returns the number of leading digits, at least ``minDigits``, that makes each shortened id unique.
    static func digits(of ids: [String]) -> Int {
        let ids = ids.sorted()
        return zip(ids, ids.dropFirst()).reduce(minDigits) { digits, pair in
            max(digits, zip(pair.0.utf8, pair.1.utf8).prefix { $0 == $1 }.count + 1)
        }
    }

    static func name(of priority: DownloadPriority) -> String {
        DownloadPriority.words.first { $0.priority == priority }?.word ?? "\(priority.rawValue)"
    }

    private static func size(of snapshot: DownloadSnapshot) -> String {
        let progress = snapshot.progress
        if let total = progress.totalBytes { return Format.size(total) }
        return progress.bytesReceived > 0 ? Format.size(progress.bytesReceived) : ""
    }

    private static func description(of snapshot: DownloadSnapshot, now: Date) -> String {
        let name = snapshot.shownName.printable
        switch snapshot.state {
        case .failed(let error): return "\(name): \(error.message.printable)"
        case .waiting:
            if let blocker = snapshot.networkBlocker { return "\(name): waiting for \(blocker.remedy)" }
            guard let begin = snapshot.request.earliestBegin, begin > now else { return name }
            return "\(name): starts at \(BeginTime.text(begin))"
        default: return name
        }
    }
}

extension DownloadSnapshot {
    /// The download's number in the form that commands accept: `%3`.
    var shownNumber: String? { number.map { "%\($0)" } }

    /// The download's name and number, which distinguishes downloads of the same name.
    var numberedName: String { shownName + (shownNumber.map { " (\($0))" } ?? "") }

    /// The download's title, or else the name of its file.
    var shownName: String { request.title ?? name }
}
