import Headrace

/// The content of the status area: the running downloads and the totals.
struct LiveProgress: Sendable, Equatable {
    /// The running downloads, in the order of their first events.
    var running: [DisplayedDownload]
    var totals: RunTotals

    /// Returns the lines of the status area for a terminal with these numbers of columns and rows.
    func draw(width: Int, height: Int, _ glyphs: Glyphs) -> [String] {
        guard !running.isEmpty else { return [] }
        let names = running.map(\.name.printable)
        let all = totals.count > 1 ? [all] : []
        let longest = (names + all.map(\.name)).map(\.displayWidth).max() ?? 0
        let columns = Columns(width: width, longestName: longest, glyphs)
        let whole = all.map(columns.line)
        // The cursor is on the line below the area.
        let space = max(1, height - 1)
        guard running.count + whole.count > space else {
            return zip(names, running).map { draw($1, as: $0, columns) } + whole
        }
        let shown = max(0, space - whole.count - 1)
        let rows = zip(names, running).prefix(shown).map { draw($1, as: $0, columns) }
        let more = glyphs.fit("… and \(running.count - shown) more".shortened(to: max(1, width - 1)))
        return Array((rows + [more] + whole).suffix(space))
    }

    /// The progress as one line of a log, for all downloads together; `nil` if none is running.
    var line: String? {
        guard let first = running.first else { return nil }
        var cells = all
        if totals.count <= 1 {
            cells.name = first.name
            cells.fraction = first.progress.fractionCompleted
            cells.time = first.progress.timeRemaining.map(Format.duration) ?? ""
        }
        let time = cells.time.isEmpty ? nil : "\(cells.time) left"
        let words = [cells.fraction.map(Format.percent), cells.size, cells.speed, time]
        return "\(cells.name): \(words.compactMap(\.self).joined(separator: ", "))"
    }

    private func draw(_ item: DisplayedDownload, as name: String, _ columns: Columns) -> String {
        let progress = item.progress
        let hasResponse = item.plannedPath != nil
        if let verified = progress.bytesVerified {
            return columns.line(name: name, verified: verified, of: progress.totalBytes)
        }
        let cells = Columns.Cells(
            name: name,
            fraction: progress.fractionCompleted,
            size: hasResponse ? Self.size(progress.bytesReceived, progress.totalBytes) : "connecting",
            speed: hasResponse ? Format.speed(progress.bytesPerSecond) : "",
            time: progress.timeRemaining.map(Format.duration) ?? ""
        )
        return columns.line(cells)
    }

    /// The totals of all downloads.
    private var all: Columns.Cells {
        let received = running.reduce(totals.finishedBytes) { $0 + $1.progress.bytesReceived }
        let speed = running.reduce(0) { $0 + $1.progress.bytesPerSecond }
        let total = total
        let rest = total.map { max(0, Double($0 - received)) }
        // There is no estimate if a size is unknown.
        let time = rest.flatMap { speed >= 1 ? Duration.seconds(min($0 / speed, 1e9)) : nil }
        return Columns.Cells(
            name: "\(totals.finished)/\(totals.count) done\(totals.failed == 0 ? "" : ", \(totals.failed) failed")",
            fraction: fraction(received, total),
            size: Self.size(received, total),
            speed: Format.speed(speed),
            time: time.map(Format.duration) ?? ""
        )
    }

    private var total: Int64? {
        guard totals.ended + running.count == totals.count else { return nil }
        return running.reduce(totals.finishedBytes) { sum, item in
            guard let sum, let bytes = item.progress.totalBytes else { return nil }
            // Servers may send any size, so the sum may overflow.
            let (total, isTooLarge) = sum.addingReportingOverflow(bytes)
            return isTooLarge ? nil : total
        }
    }

    /// Returns the completed fraction: by bytes if all sizes are known, otherwise with equal weight for each download.
    private func fraction(_ received: Int64, _ total: Int64?) -> Double {
        if let total { return total == 0 ? 1 : Double(received) / Double(total) }
        let parts = running.reduce(Double(totals.ended)) { $0 + ($1.progress.fractionCompleted ?? 0) }
        return parts / Double(totals.count)
    }

    private static func size(_ received: Int64, _ total: Int64?) -> String {
        Format.size(received) + (total.map { "/" + Format.size($0) } ?? "")
    }
}

extension Columns {
    func line(name: String, verified: Int64, of total: Int64?) -> String {
        let fraction = total.map { $0 == 0 ? 1 : Double(verified) / Double($0) }
        return line(Cells(name: name, fraction: fraction, size: Format.size(verified), speed: "verifying", time: ""))
    }
}
