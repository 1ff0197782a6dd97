/// Completes the words of a command line for the shells, from the tables that the parser uses.
enum Completions {
    enum Shell: String, CaseIterable {
        case bash
        case zsh
        case fish
    }

    /// A word that may be the next one of a command line.
    struct Candidate: Equatable {
        /// Makes the script offer the names of files.
        static let files = Candidate(word: ":files")
        /// Makes the script offer the names of directories.
        static let directories = Candidate(word: ":directories")

        let word: String
        var help = ""

        /// Returns the line that the script for the shell reads.
        func line(for shell: Shell) -> String {
            guard !help.isEmpty else { return word }
            return switch shell {
            case .bash: word
            case .zsh: "\(word):\(help)"
            case .fish: "\(word)\t\(help)"
            }
        }
    }

    /// Returns the candidates for the last word of `line`, which has the words after the name of the tool.
    ///
    /// Candidates that do not start with that word are included; the shell removes them.
    static func candidates(for line: [String], _ verbs: [Verb] = Verb.table) -> [Candidate] {
        let (words, current) = (Array(line.dropLast()), line.last ?? "")
        let verb = verbs.first { words.starts(with: $0.words) }
        let options = verb?.options ?? Option.table.filter { [.version, .help].contains($0.option) }
        // The option of an argument is the word before it, or precedes it in the same word with an equals sign.
        let attached = current.hasPrefix("--") ? current.firstIndex(of: "=").map { String(current[..<$0]) } : nil
        let name = attached ?? words.last ?? ""
        if let candidates = options.first(where: { $0.names.contains(name) })?.candidates { return candidates }
        guard !current.hasPrefix("-") else {
            return options.flatMap { entry in entry.names.map { Candidate(word: $0, help: entry.help) } }
        }
        return verb?.operandCandidates ?? commands(after: words, verbs)
    }

    /// Returns the words that continue the name of a command.
    private static func commands(after beginning: [String], _ verbs: [Verb]) -> [Candidate] {
        self.words(after: beginning, in: verbs).map { word in
            let group = verbs.filter { $0.words.starts(with: beginning + [word]) }
            return Candidate(word: word, help: group.count == 1 ? group[0].summary : "manage the download queue")
        }
    }

    /// Returns the distinct words that follow the beginning of a command's name, in the order of the commands.
    static func words(after beginning: [String] = [], in verbs: [Verb]) -> [String] {
        let following = verbs.filter { $0.words.starts(with: beginning) }.map { $0.words.dropFirst(beginning.count) }
        return following.compactMap(\.first).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }
}

extension Option.Entry {
    /// Whether the argument names a file, perhaps by a URL.
    var takesFile: Bool { argument?.hasPrefix("FILE") == true }

    /// The candidates for the option's argument, empty for free text; `nil` for a switch.
    fileprivate var candidates: [Completions.Candidate]? {
        guard let argument else { return nil }
        if takesFile { return [.files] }
        return argument == "DIR" ? [.directories] : option.words.map { .init(word: $0) }
    }
}

extension Verb {
    fileprivate var operandCandidates: [Completions.Candidate] {
        if operands.hasPrefix("FILE") || operands.hasPrefix("[FILE") { return [.files] }
        return operands == "SHELL" ? Completions.Shell.allCases.map { .init(word: $0.rawValue) } : []
    }

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
            The script runs headrace completions SHELL -- WORD..., which prints the words that may complete the last one.
            """
        ],
        run: { arguments in
            guard let shell = arguments.operands.first.flatMap(Completions.Shell.init(rawValue:)) else {
                let shells = Completions.Shell.allCases.map(\.rawValue).joined(separator: ", ")
                throw UsageError("completions: expected one of \(shells)")
            }
            let line = Array(arguments.operands.dropFirst())
            guard !line.isEmpty else { return Console.output.write(shell.script) }
            return Console.output.print(Completions.candidates(for: line).map { $0.line(for: shell) })
        }
    )
}
