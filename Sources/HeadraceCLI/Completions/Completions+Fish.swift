extension Completions {
    static func fish(_ verbs: [Verb]) -> String {
        let firstWords = words(verbs).joined(separator: " ")
        let intro = """
            # Completes headrace in fish.
            complete -c headrace -f
            complete -c headrace -n '__fish_use_subcommand' -l help -d 'print the help'
            complete -c headrace -n '__fish_use_subcommand' -l version -d 'print the version'
            """
        var lines = [intro]
        for word in words(verbs) {
            let group = Verb.group(word, in: verbs)
            let summary = fishText(summary(of: word, verbs))
            lines.append(
                "complete -c headrace -n 'not __fish_seen_subcommand_from \(firstWords)' -a \(word) -d \(summary)"
            )
            let names = group.map { $0.words[1] }.joined(separator: " ")
            for verb in group {
                let condition = "__fish_seen_subcommand_from \(word); and not __fish_seen_subcommand_from \(names)"
                lines.append("complete -c headrace -n '\(condition)' -a \(verb.words[1]) -d \(fishText(verb.summary))")
            }
        }
        lines += verbs.flatMap(fishVerb)
        return lines.joined(separator: "\n") + "\n"
    }

    private static func fishVerb(_ verb: Verb) -> [String] {
        let condition = verb.words.map { "__fish_seen_subcommand_from \($0)" }.joined(separator: "; and ")
        let start = "complete -c headrace -n '\(condition)'"
        let operands = fishChoice(verb.operandCompletion).map { ["\(start) \($0)"] } ?? []
        return operands
            + verb.options.map { entry in
                let short = entry.short.map { " -s \($0)" } ?? ""
                let argument = entry.completion.map { " -r " + (fishChoice($0) ?? "-f") } ?? ""
                return "\(start)\(short) -l \(entry.option.rawValue)\(argument) -d \(fishText(entry.help))"
            }
    }

    private static func fishChoice(_ argument: Argument) -> String? {
        switch argument {
        case .file: "-F"
        case .directory: "-f -a '(__fish_complete_directories)'"
        case .words(let words): "-f -a '\(words.joined(separator: " "))'"
        case .text: nil
        }
    }

    private static func fishText(_ text: String) -> String {
        "'" + text.map { "'\\".contains($0) ? "\\\($0)" : "\($0)" }.joined() + "'"
    }
}
