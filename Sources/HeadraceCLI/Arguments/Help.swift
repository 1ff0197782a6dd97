/// The help text, made of the tables that the parser reads.
enum Help {
    static let statuses = """
        Exit status: 0 all finished, 2 usage, 3 network, 4 the server refused, 5 disk, 6 checksum,
        7 the answer broke HTTP's rules, 1 anything else or several reasons, 130 and 143 interrupted.
        """

    static func text(verbs: [Verb] = Verb.table) -> String {
        var lines = verbs.enumerated().map { index, verb in
            (index == 0 ? "Usage: " : "       ") + "headrace \(verb.name) [options] \(verb.operands)"
        }
        lines += ["", "Commands:"]
        lines += verbs.map { "  \(padded($0.name, to: 12)) \($0.summary)" }
        for verb in verbs {
            lines += ["", "Options of \(verb.name):"]
            let width = verb.options.map { name(of: $0).count }.max() ?? 0
            lines += verb.options.map { entry in
                "  \(padded(name(of: entry), to: width))  \(entry.help)\(entry.isPending ? " [not yet]" : "")"
            }
        }
        return (lines + ["", statuses]).joined(separator: "\n")
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
