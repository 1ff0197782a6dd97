extension Completions {
    /// Returns the completion script for bash, which does not need the bash-completion library.
    static func bash(_ verbs: [Verb]) -> String {
        """
        # Completes headrace in bash.
        _headrace_files() {
            local name
            # Line by line, because a name may contain blanks and stars.
            while IFS= read -r name; do
                [ -z "$name" ] || COMPREPLY+=("$name")
            done <<< "$(compgen "$1" -- "$2")"
        }
        _headrace() {
            local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]}
            COMPREPLY=()
            if [ "$COMP_CWORD" -eq 1 ]; then
                COMPREPLY=($(compgen -W "\((words(verbs) + ["--help", "--version"]).joined(separator: " "))" -- "$current"))
                return
            fi
            case $verb in
            \(groups(verbs).map { bashGroup($0, verbs) }.joined(separator: "\n    "))
            esac
            case $previous in
            \(Option.table.compactMap(bashArgument).joined(separator: "\n    "))
            esac
            local options='' words='' files=''
            case $verb in
            \(verbs.map(bashVerb).joined(separator: "\n    "))
            esac
            case $current in
            -*) COMPREPLY=($(compgen -W "$options" -- "$current")) ;;
            *)
                COMPREPLY=($(compgen -W "$words" -- "$current"))
                [ -z "$files" ] || _headrace_files -f "$current"
                ;;
            esac
        }
        complete -o filenames -F _headrace headrace

        """
    }

    private static func bashGroup(_ word: String, _ verbs: [Verb]) -> String {
        let names = Verb.group(word, in: verbs).map { $0.words[1] }.joined(separator: " ")
        return """
            \(word))
                    if [ "$COMP_CWORD" -eq 2 ]; then
                        COMPREPLY=($(compgen -W "\(names) --help" -- "$current"))
                        return
                    fi
                    verb="\(word) ${COMP_WORDS[2]}"
                    ;;
            """
    }

    /// Returns the `case` branch that completes the argument of an option; `nil` for a switch.
    private static func bashArgument(_ entry: Option.Entry) -> String? {
        guard let argument = entry.completion else { return nil }
        let names = ["--\(entry.option.rawValue)"] + (entry.short.map { ["-\($0)"] } ?? [])
        let pattern = names.joined(separator: " | ")
        let offer =
            switch argument {
            case .file: "_headrace_files -f \"$current\"; "
            case .directory: "_headrace_files -d \"$current\"; "
            case .words(let words): "COMPREPLY=($(compgen -W '\(words.joined(separator: " "))' -- \"$current\")); "
            case .text: ""
            }
        return "\(pattern)) \(offer)return ;;"
    }

    private static func bashVerb(_ verb: Verb) -> String {
        let options = verb.options.map { "--\($0.option.rawValue)" }.joined(separator: " ")
        let operands =
            switch verb.operandCompletion {
            case .words(let words): " words='\(words.joined(separator: " "))'"
            case .file, .directory: " files=1"
            case .text: ""
            }
        return "'\(verb.name)') options='\(options)'\(operands) ;;"
    }
}
