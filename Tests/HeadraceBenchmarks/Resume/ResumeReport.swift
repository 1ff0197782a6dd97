/// The report of the verb `resume`: a row for each case, a column for each program, headrace's first.
struct ResumeReport: VerbReport {
    struct Column {
        let name: String
        let version: String
        let cells: [ResumeOutcome]
    }

    var columns: [Column] = []

    /// The cases in which headrace failed.
    var violations: [String] {
        guard let subject = columns.first else { return [] }
        return zip(ResumeCase.allCases, subject.cells).filter { !$1.isRight }.map { situation, cell in
            "\(situation.title): \(cell.text)\(cell.message.map { ": \($0)" } ?? "")"
        }
    }

    var text: String {
        var table = Table(columns: ["answer to the rest's request"] + columns.map(\.name))
        for (index, situation) in ResumeCase.allCases.enumerated() {
            table.add([situation.title] + columns.map { $0.cells[index].text })
        }
        let head = "A download of 3,000,000 bytes, cut at 1,500,000 by a clean end, then resumed with:"
        let legend = [
            "exact: one version of the file; MIX: bytes of several; half: a part, reported as complete; page: a login page",
            "under the file's name; rcN: failed with that exit status, and the old bytes were kept or LOST",
        ]
        let versions = columns.map { "  " + $0.name.padded(to: 10) + $0.version.prefix(72) }
        return ([head, ""] + table.lines + [""] + legend + [""] + versions).joined(separator: "\n")
    }

    var members: [(String, JSON)] {
        [
            ("size", .integer(ResumeCase.size)), ("cut", .integer(ResumeCase.cut)),
            (
                "programs",
                .array(
                    columns.map { column in
                        .object([
                            ("name", .string(column.name)), ("version", .string(column.version)),
                            (
                                "cases",
                                .object(zip(ResumeCase.allCases, column.cells).map { ($0.rawValue, $1.json) })
                            ),
                        ])
                    }
                )
            ),
        ]
    }
}
