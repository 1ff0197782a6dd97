extension Completions.Shell {
    /// The completion script, which runs the tool to get the candidates.
    var script: String {
        switch self {
        case .bash: Self.bashScript
        case .zsh: Self.zshScript
        case .fish: Self.fishScript
        }
    }

    private static let bashScript = #"""
        # Completes headrace in bash; does not need the bash-completion library.
        _headrace() {
            local current=${COMP_WORDS[COMP_CWORD]} candidates word
            candidates=$(headrace completions bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null)
            case $candidates in
            :files) candidates=$(compgen -f -- "$current") ;;
            :directories) candidates=$(compgen -d -- "$current") ;;
            *)
                candidates=$(compgen -W "$candidates" -- "$current")
                # A word may also be the name of a folder.
                compopt +o filenames 2> /dev/null
                ;;
            esac
            COMPREPLY=()
            # Line by line, because a name may contain blanks and stars.
            while IFS= read -r word; do
                [ -z "$word" ] || COMPREPLY+=("$word")
            done <<< "$candidates"
        }
        complete -o filenames -F _headrace headrace

        """#

    private static let zshScript = #"""
        #compdef headrace
        # Completes headrace in zsh.
        _headrace() {
            local -a candidates
            candidates=(${(f)"$(headrace completions zsh -- "${(@Q)words[2,CURRENT]}" 2> /dev/null)"})
            # The argument of an option may follow an equals sign.
            compset -P '--*='
            case $candidates in
            :files) _files ;;
            :directories) _files -/ ;;
            *) _describe candidate candidates ;;
            esac
        }
        # Run the function if zsh autoloaded this file, otherwise register it.
        if [ "$funcstack[1]" = _headrace ]; then _headrace "$@"; else compdef _headrace headrace; fi

        """#

    private static let fishScript = #"""
        # Completes headrace in fish.
        function __headrace_candidates
            set -l current (commandline -ct)
            # The argument of an option may follow an equals sign.
            set -l option (string match -r -- '^--.*?=' "$current")
            set -l argument (string replace -- "$option" '' "$current")
            set -l candidates (headrace completions fish -- (commandline -opc)[2..-1] "$current" 2> /dev/null)
            switch "$candidates"
                case ':files'
                    set candidates (__fish_complete_path "$argument")
                case ':directories'
                    set candidates (__fish_complete_directories "$argument")
            end
            for candidate in $candidates
                echo "$option$candidate"
            end
        end
        complete -c headrace -f -a '(__headrace_candidates)'

        """#
}
