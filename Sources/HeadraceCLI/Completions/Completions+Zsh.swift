extension Completions {
    static func zsh(_ verbs: [Verb]) -> String {
        """
        #compdef headrace
        # Completes headrace in zsh.
        _headrace() {
            local -a commands
            if (( CURRENT == 2 )); then
                commands=(
                    \(words(verbs).map { quoted("\($0):\(summary(of: $0, verbs))") }.joined(separator: "\n            "))
                )
                _describe command commands
                return
            fi
            local verb=$words[2]
            shift words
            (( CURRENT-- ))
            case $verb in
            \(groups(verbs).map { zshGroup($0, verbs) }.joined(separator: "\n    "))
            esac
            case $verb in
            \(verbs.map(zshVerb).joined(separator: "\n    "))
            esac
        }
        # Run the function if zsh autoloaded this file, otherwise register it.
        if [ "$funcstack[1]" = _headrace ]; then _headrace "$@"; else compdef _headrace headrace; fi

        """
    }

    private static func zshGroup(_ word: String, _ verbs: [Verb]) -> String {
        let names = Verb.group(word, in: verbs).map { quoted("\($0.words[1]):\($0.summary)") }
        return """
            \(word))
                    if (( CURRENT == 2 )); then
                        commands=(
                            \(names.joined(separator: "\n            "))
                        )
                        _describe command commands
                        return
                    fi
                    verb="$verb $words[2]"
                    shift words
                    (( CURRENT-- ))
                    ;;
            """
    }

    private static func zshVerb(_ verb: Verb) -> String {
        var lines = verb.options.map(zshOption)
        if !verb.operands.isEmpty {
            lines.append(quoted("*:\(zshName(verb.operands)):\(zshChoice(verb.operandCompletion))"))
        }
        return """
            '\(verb.name)')
                    _arguments -s \\
                        \(lines.joined(separator: " \\\n            "))
                    ;;
            """
    }

    private static func zshOption(_ entry: Option.Entry) -> String {
        // The argument may follow a long name after =, and a short name without a separator.
        let long = "--\(entry.option.rawValue)" + (entry.argument == nil ? "" : "=")
        let help = entry.help.map { "[]:".contains($0) ? "\\\($0)" : "\($0)" }.joined()
        let argument = entry.completion.map { ":\(zshName(entry.argument ?? "")):\(zshChoice($0))" } ?? ""
        let specification = quoted("[\(help)]\(argument)")
        guard let short = entry.short else { return quoted("*\(long)") + specification }
        return "'*'{-\(short)\(entry.argument == nil ? "" : "+"),\(long)}\(specification)"
    }

    private static func zshName(_ text: String) -> String {
        text.map { ":'".contains($0) ? " " : "\($0)" }.joined()
    }

    private static func zshChoice(_ argument: Argument) -> String {
        switch argument {
        case .file: "_files"
        case .directory: "_files -/"
        case .words(let words): "(\(words.joined(separator: " ")))"
        // Offers nothing. An action of one space would offer nothing either, but zsh would then insert an option.
        case .text: "()"
        }
    }

    /// Quotes the text as one word for a POSIX shell.
    static func quoted(_ text: String) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }
}
