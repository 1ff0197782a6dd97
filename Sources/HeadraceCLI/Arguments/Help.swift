/// The help text, made of the tables that the parser reads.
enum Help {
    static let statuses = """
        Exit status: 0 all finished, 2 usage, 3 network, 4 the server refused, 5 disk or a list in use, 6 checksum,
        7 the answer broke HTTP's rules, 1 anything else or several reasons; interrupted: 129, 130, 131 or 143.
        """

    /// The help on these commands: options too for one alone, and for those that are in no group.
    static func text(on verbs: [Verb] = Verb.table) -> String {
        var lines = verbs.enumerated().map { index, verb in
            let words = ["headrace", verb.name, "[options]", verb.operands].filter { !$0.isEmpty }
            return (index == 0 ? "Usage: " : "       ") + words.joined(separator: " ")
        }
        if verbs.count > 1 {
            let width = verbs.map(\.name.count).max() ?? 0
            lines += ["", "Commands:"] + verbs.map { "  \(padded($0.name, to: width))  \($0.summary)" }
        } else {
            lines += [""] + verbs.map(\.summary)
        }
        for verb in verbs where verbs.count == 1 || verb.words.count == 1 {
            lines += ["", "Options of \(verb.name):"] + table(verb.options)
        }
        if verbs.count > 1 { lines += ["", "headrace COMMAND --help lists the options of a command."] }
        // One note may hold for several commands.
        for note in Set(verbs.flatMap(\.notes)).sorted() { lines += ["", note] }
        return (lines + ["", statuses]).joined(separator: "\n")
    }

    private static func table(_ options: [Option.Entry]) -> [String] {
        let width = options.map { name(of: $0).count }.max() ?? 0
        return options.map { entry in
            "  \(padded(name(of: entry), to: width))  \(entry.help)"
        }
    }

    private static func name(of entry: Option.Entry) -> String {
        let short = entry.short.map { "-\($0), " } ?? "    "
        let argument = entry.argument.map { " \($0)" } ?? ""
        return "\(short)--\(entry.option.rawValue)\(argument)"
    }

    private static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
