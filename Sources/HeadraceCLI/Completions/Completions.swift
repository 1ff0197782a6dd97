/// Generates shell completion scripts from the tables that the parser uses.
enum Completions {
    enum Shell: String, CaseIterable {
        case bash
        case zsh
        case fish
    }

    /// The completions for the argument of an option or for an operand.
    enum Argument: Equatable {
        case file
        case directory
        case words([String])
        /// Free text, for which the shell offers no completions.
        case text
    }

    static func script(for shell: Shell, _ verbs: [Verb] = Verb.table) -> String {
        switch shell {
        case .bash: bash(verbs)
        case .zsh: zsh(verbs)
        case .fish: fish(verbs)
        }
    }

    /// Returns the distinct first words of the commands, in the order of the commands.
    static func words(_ verbs: [Verb]) -> [String] {
        verbs.map { $0.words[0] }.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    static func summary(of word: String, _ verbs: [Verb]) -> String {
        Verb.group(word, in: verbs).isEmpty
            ? verbs.first { $0.name == word }?.summary ?? "" : "manage the download queue"
    }

    /// Returns the first words that name a group of commands, such as `queue`.
    static func groups(_ verbs: [Verb]) -> [String] {
        words(verbs).filter { !Verb.group($0, in: verbs).isEmpty }
    }
}

extension Option.Entry {
    /// The completions for the option's argument; `nil` for a switch.
    var completion: Completions.Argument? {
        guard let argument else { return nil }
        if !words.isEmpty { return .words(words) }
        // FILE|URL completes files too.
        if argument.hasPrefix("FILE") { return .file }
        return argument == "DIR" ? .directory : .text
    }
}

extension Verb {
    var operandCompletion: Completions.Argument {
        if operands.hasPrefix("FILE") || operands.hasPrefix("[FILE") { return .file }
        return operands.hasPrefix("SHELL") ? .words(Completions.Shell.allCases.map(\.rawValue)) : .text
    }
}

extension Verb {
    static let completions = Verb(
        name: "completions",
        operands: "SHELL",
        summary: "print a completion script for bash, zsh or fish",
        options: .entries(of: [.help]),
        notes: [
            """
            bash: eval "$(headrace completions bash)" in ~/.bashrc
            zsh:  headrace completions zsh > ~/.zfunc/_headrace, in a directory of $fpath, before compinit
            fish: headrace completions fish > ~/.config/fish/completions/headrace.fish
            """
        ],
        run: { arguments in
            let shells = Completions.Shell.allCases.map(\.rawValue).joined(separator: ", ")
            guard arguments.operands.count == 1, let shell = Completions.Shell(rawValue: arguments.operands[0]) else {
                throw UsageError("completions: expected one of \(shells)")
            }
            return Console.output.write(Completions.script(for: shell)) ? .success : .disk
        }
    )
}
