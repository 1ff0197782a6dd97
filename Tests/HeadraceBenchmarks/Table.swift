/// A text table: the first column is left-aligned, the others are right-aligned.
struct Table: Sendable {
    private var rows: [[String]]

    init(columns: [String]) {
        rows = [columns]
    }

    mutating func add(_ row: [String]) {
        precondition(row.count == rows[0].count, "a row of \(row.count) cells in a table of \(rows[0].count) columns")
        rows.append(row)
    }

    var lines: [String] {
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            "  "
                + row.indices.map { column in
                    row[column].padded(to: widths[column], isRight: column > 0)
                }.joined(separator: "  ")
        }
    }
}

extension String {
    /// Pads the text with spaces to a width; a longer text is unchanged.
    func padded(to width: Int, isRight: Bool = false) -> String {
        let spaces = String(repeating: " ", count: max(0, width - count))
        return isRight ? spaces + self : self + spaces
    }
}
