/// What makes a shell complete the tool's command lines, made of the tables that the parser reads.
enum Completions {
    /// A shell that there is a script for.
    enum Shell: String, CaseIterable {
        case bash
        case zsh
        case fish
    }

    /// What the shell is to offer as the argument of an option or an operand.
    enum Argument: Equatable {
        case file
        case directory
        case words([String])
        /// Nothing that the shell could know.
        case text
    }

    static func script(for shell: Shell, _ verbs: [Verb] = Verb.table) -> String {
        switch shell {
        case .bash: bash(verbs)
        case .zsh: zsh(verbs)
        case .fish: fish(verbs)
        }
    }

    /// The first words of the commands, each once, in their order.
    static func words(_ verbs: [Verb]) -> [String] {
        verbs.map { $0.words[0] }.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// What is said of the first word of a command.
    static func summary(of word: String, _ verbs: [Verb]) -> String {
        Verb.group(word, in: verbs).isEmpty
            ? verbs.first { $0.name == word }?.summary ?? "" : "the commands on a list"
    }

    /// The words that are groups of commands.
    static func groups(_ verbs: [Verb]) -> [String] {
        words(verbs).filter { !Verb.group($0, in: verbs).isEmpty }
    }
}

extension Option.Entry {
    /// What its argument is; nil for a switch.
    var completion: Completions.Argument? {
        guard let argument else { return nil }
        if !words.isEmpty { return .words(words) }
        // FILE|URL is a file as well.
        if argument.hasPrefix("FILE") { return .file }
        return argument == "DIR" ? .directory : .text
    }
}

extension Verb {
    /// What follows the options.
    var operandCompletion: Completions.Argument {
        if operands.hasPrefix("FILE") || operands.hasPrefix("[FILE") { return .file }
        return operands.hasPrefix("SHELL") ? .words(Completions.Shell.allCases.map(\.rawValue)) : .text
    }
}

extension Verb {
    static let completions = Verb(
        name: "completions",
        operands: "SHELL",
        summary: "print what makes bash, zsh or fish complete the command line",
        options: .those(of: [.help]),
        notes: [
            """
            bash: eval "$(headrace completions bash)" in ~/.bashrc
            zsh:  headrace completions zsh > ~/.zfunc/_headrace, in a directory of $fpath, before compinit
            fish: headrace completions fish > ~/.config/fish/completions/headrace.fish
            """
        ],
        run: { arguments async throws(UsageError) in
            let shells = Completions.Shell.allCases.map(\.rawValue).joined(separator: ", ")
            guard arguments.operands.count == 1, let shell = Completions.Shell(rawValue: arguments.operands[0]) else {
                throw UsageError("completions: one of \(shells) is wanted")
            }
            return Console.output.write(Completions.script(for: shell)) ? .success : .disk
        }
    )
}
