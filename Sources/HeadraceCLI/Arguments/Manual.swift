import Headrace

/// The manual page headrace(1), generated from the tables that the parser uses, with the macros of man(7).
enum Manual {
    static func page(_ verbs: [Verb] = Verb.table) -> String {
        let commands = verbs.flatMap { verb in
            [".SS \(roman("headrace \(verb.name) \(verb.operands)"))", roman(verb.summary) + "."]
                + [".PP", "Options: \(verb.options.map { name(of: $0, argument: nil) }.joined(separator: ", "))."]
                + verb.notes.flatMap { [".PP", ".nf", roman($0), ".fi"] }
        }
        let options = Option.Group.allCases.flatMap { group in
            [".SS \(group.rawValue)"]
                + Option.table.filter { $0.group == group }.flatMap { entry in
                    [".TP", name(of: entry, argument: entry.argument), roman(entry.help)]
                }
        }
        let start = [
            ".TH HEADRACE 1 \"\" \"headrace \(headraceVersion)\"", ".SH NAME",
            "headrace \\- download, resume and verify files over HTTP", ".SH SYNOPSIS", ".nf",
        ]
        let synopsis = verbs.map { "\(bold("headrace \($0.name)")) [options] \(roman($0.operands))" }
        let lines =
            start + synopsis + [".fi", ".SH DESCRIPTION", roman(description), ".SH COMMANDS"] + commands
            + [".SH OPTIONS"] + options + [".SH EXIT STATUS", roman(Help.statuses), ".SH ENVIRONMENT"]
            + variables.flatMap { [".TP", bold($0), roman($1)] }
            + [".SH CONFIGURATION FILE", ".nf", roman(ConfigurationFile.notes), ".fi"]
            + [".SH SEE ALSO", "\(bold("curl"))(1), \(bold("sha256sum"))(1), \(bold("systemd.unit"))(5)"]
        return lines.joined(separator: "\n") + "\n"
    }

    private static let description = """
        Headrace downloads files over HTTP with several connections and mirrors, resumes what was interrupted, and never
        mixes bytes of two versions of a file. A file gets its name when it is complete and its checksum is right.
        """

    private static let variables: KeyValuePairs<String, String> = [
        "XDG_CONFIG_HOME": "the directory of headrace/config (default: ~/.config)",
        "XDG_STATE_HOME": "the directory of the queue's directory headrace (default: ~/.local/state)",
        "http_proxy, https_proxy, all_proxy, no_proxy": "the proxies to use, and the hosts without one",
        "TMPDIR": "the directory for the temporary folder of --output - (default: /tmp)",
        "HEADRACE_LIBCURL": "the path of another libcurl",
    ]

    private static func name(of entry: Option.Entry, argument: String?) -> String {
        entry.names.map(bold).joined(separator: ", ") + (argument.map { " \\fI\(escaped($0))\\fR" } ?? "")
    }

    private static func bold(_ text: String) -> String { "\\fB\(escaped(text))\\fR" }

    /// Escapes the lines of a text, because roff interprets a line that starts with a period or a quote as a command.
    static func roman(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            (line.hasPrefix(".") || line.hasPrefix("'") ? "\\&" : "") + escaped(line)
        }.joined(separator: "\n")
    }

    /// The characters that roff interprets, or replaces by typographic ones (groff_char(7)).
    private static let escapes: [Character: String] = [
        "\\": "\\(rs", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti",
    ]

    private static func escaped(_ text: some StringProtocol) -> String {
        text.map { escapes[$0] ?? String($0) }.joined()
    }
}

extension Verb {
    static let manual = Verb(
        name: "man",
        summary: "print the manual page",
        options: .entries(of: [.help]),
        notes: ["headrace man > ~/.local/share/man/man1/headrace.1"],
        run: { _ in Console.output.write(Manual.page()) }
    )
}
