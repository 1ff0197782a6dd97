/// The help texts, generated from the tables that the parser uses.
enum Help {
    static let statuses = """
        Exit status: 0 success, 2 usage error, 3 network error, 4 refused by the server, 5 disk error or queue in use,
        6 checksum mismatch, 7 invalid HTTP response, 1 other or several different errors; 129, 130, 131, 143 interrupted,
        141 pipe closed by its reader.
        """

    /// Returns the help for the given commands; a single command is shown with its options.
    static func text(on verbs: [Verb] = Verb.table) -> String {
        var lines = verbs.enumerated().map { index, verb in
            let words = ["headrace", verb.name, "[options]", verb.operands].filter { !$0.isEmpty }
            return (index == 0 ? "Usage: " : "       ") + words.joined(separator: " ")
        }
        if verbs.count > 1 {
            let width = verbs.map(\.name.count).max() ?? 0
            lines += ["", "Commands:"] + verbs.map { "  \($0.name.fitted(to: width))  \($0.summary)" }
            lines += ["", "Run headrace COMMAND --help to see the options of a command."]
        } else {
            lines += [""] + verbs.map(\.summary)
            for verb in verbs { lines += table(verb.options) }
        }
        // The notes of all commands together would be too long.
        if Set(verbs.map { $0.words[0] }).count == 1 {
            for note in Set(verbs.flatMap(\.notes)).sorted() { lines += ["", note] }
        }
        return (lines + ["", statuses]).joined(separator: "\n")
    }

    private static func table(_ options: [Option.Entry]) -> [String] {
        let width = options.map { name(of: $0).count }.max() ?? 0
        return Option.Group.allCases.flatMap { group -> [String] in
            let rows = options.filter { $0.group == group }.map { entry in
                "  \(name(of: entry).fitted(to: width))  \(entry.help)"
            }
            return rows.isEmpty ? [] : ["", "\(group.rawValue):"] + rows
        }
    }

    private static func name(of entry: Option.Entry) -> String {
        let short = entry.short.map { "-\($0), " } ?? "    "
        let argument = entry.argument.map { " \($0)" } ?? ""
        return "\(short)--\(entry.option.rawValue)\(argument)"
    }
}
