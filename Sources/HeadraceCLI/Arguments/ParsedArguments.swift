import Headrace

/// A parsed command line: the arguments of each option, and the operands.
struct ParsedArguments: Sendable, Equatable {
    private(set) var values: [Option: [String]] = [:]
    private(set) var operands: [String] = []
    /// The settings of the configuration file for options that the command line lacks.
    private var defaults: [ConfigurationFile.Setting] = []
    /// The options of requests in the configuration file.
    private(set) var sections: [ConfigurationFile.Section] = []

    init(_ section: ConfigurationFile.Section) {
        defaults = section.settings
        values = Dictionary(grouping: defaults, by: \.option).mapValues { $0.map(\.value) }
    }

    /// Parses the arguments after the command, with the options in `table`.
    init(_ arguments: [String], table: [Option.Entry] = Option.table) throws {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--" {
                operands += rest
                return
            } else if argument.hasPrefix("--") {
                try readLong(argument.dropFirst(2), &rest, table)
            } else if argument.hasPrefix("-"), argument != "-" {
                try readShort(argument.dropFirst(), &rest, table)
            } else {
                operands.append(argument)
            }
        }
    }

    /// The options on the command line; for a section of the configuration file, the options in that section.
    var given: Set<Option> { Set(values.keys) }

    /// Adds the settings of the configuration file, except for options that the command does not have, or that the
    /// command line overrides.
    ///
    /// The logins and header fields for hosts are added for all commands.
    mutating func add(_ file: ConfigurationFile, for verb: Verb) {
        let known = Set(verb.options.map(\.option))
        let overridden = Set(Option.alternatives.filter { !$0.allSatisfy { values[$0] == nil } }.joined())
        defaults = file.sections[0].settings.filter { setting in
            known.contains(setting.option) && values[setting.option] == nil && !overridden.contains(setting.option)
                && !ConfigurationFile.requestOptions.contains(setting.option)
        }
        sections = file.sections.map { section in
            let settings = section.settings.filter {
                ([.user, .header].contains($0.option) || known.contains($0.option))
                    && ConfigurationFile.requestOptions.contains($0.option)
            }
            return ConfigurationFile.Section(host: section.host, settings: settings)
        }
    }

    /// Returns the error; if a setting of the configuration file caused it, adds the path and the line to its message.
    func located(_ error: UsageError) -> UsageError {
        let setting = defaults.last { error.message.hasPrefix("--\($0.option.rawValue): ") }
        return setting.map { UsageError($0.origin + error.message.dropFirst(2)) } ?? error
    }

    func has(_ option: Option) -> Bool { !all(option).isEmpty }

    /// Returns the last argument given to the option, which overrides earlier ones; `nil` if there is none.
    func value(_ option: Option) -> String? { all(option).last }

    /// Converts the last argument given to the option; returns `nil` if there is none.
    func value<Value>(_ option: Option, as convert: (String, Option) throws -> Value) rethrows -> Value? {
        try value(option).map { try convert($0, option) }
    }

    /// Returns the case whose name is the option's last argument; `nil` if the option was not given.
    ///
    /// Throws if the argument is none of the names.
    func choice<Value: CaseIterable & Sendable>(_ option: Option) throws -> Value? {
        guard let text = value(option) else { return nil }
        guard let value = Value.allCases.first(where: { Option.hyphenated($0) == text }) else {
            let words = Value.allCases.map(Option.hyphenated)
            let problem =
                words.count == 2
                ? "neither \(words[0]) nor \(words[1])" : "not one of \(words.joined(separator: ", "))"
            throw UsageError(option, "\"\(text)\" is \(problem)")
        }
        return value
    }

    func all(_ option: Option) -> [String] {
        values[option] ?? defaults.filter { $0.option == option }.map(\.value)
    }

    /// Returns the given options and their arguments as words for another command line, without the option `excluded`.
    func words(leavingOut excluded: Option? = nil) -> [String] {
        Option.table.filter { $0.option != excluded }.flatMap { entry in
            (values[entry.option] ?? []).map { value in
                let name = "--\(entry.option.rawValue)"
                return entry.argument == nil ? name : "\(name)=\(value)"
            }
        }
    }

    private mutating func readLong(
        _ text: Substring,
        _ rest: inout ArraySlice<String>,
        _ table: [Option.Entry]
    ) throws {
        let name = text.prefix { $0 != "=" }
        let value = name.endIndex == text.endIndex ? nil : text[name.endIndex...].dropFirst()
        guard let entry = table.first(where: { $0.option.rawValue == name }) else {
            if let habit = Habit.find("--\(name)", in: table) {
                guard let option = try read(habit, "--\(name)", value, &rest) else { return }
                return try readLong(option.rawValue + text[name.endIndex...], &rest, table)
            }
            let suggestion = Spelling.nearest(to: name, in: table.map(\.option.rawValue)).map { "--\($0)" }
            throw UsageError("--\(name): no such option\(Spelling.hint(suggestion))")
        }
        switch (entry.argument, value) {
        case (nil, nil): add(entry, "")
        case (nil, .some): throw UsageError("--\(name): takes no argument")
        case (.some, .some(let value)): add(entry, String(value))
        case (.some, nil): add(entry, try Self.next(&rest, for: "--\(name)", entry))
        }
    }

    private mutating func readShort(
        _ letters: Substring,
        _ rest: inout ArraySlice<String>,
        _ table: [Option.Entry]
    ) throws {
        if letters.count > 1, case .advice(let advice)? = Habit.find("-\(letters)", in: table) {
            throw UsageError("-\(letters): \(advice)")
        }
        var letters = letters
        while let letter = letters.popFirst() {
            // For aria2, `-s16` is a number of connections; for curl, `-s` is silent.
            if letter == "s", letters.isEmpty ? rest.first?.isDigits == true : letters.isDigits {
                let count = letters.isEmpty ? rest.popFirst() ?? "" : String(letters)
                return try has(.connections) ? () : readLong("connections=\(count)", &rest, table)
            }
            var entry = table.first { $0.short == letter }
            if entry == nil, let habit = Habit.find("-\(letter)", in: table) {
                guard let option = try read(habit, "-\(letter)", letters.isEmpty ? nil : letters, &rest) else {
                    if habit == .isDefaultWithHyphen { return }
                    continue
                }
                entry = table.first { $0.option == option }
            }
            guard let entry else { throw UsageError("-\(letter): no such option") }
            guard entry.argument != nil else {
                add(entry, "")
                continue
            }
            add(entry, letters.isEmpty ? try Self.next(&rest, for: "-\(letter)", entry) : String(letters))
            return
        }
    }

    /// Reads an option of another tool, and returns this tool's option with the same meaning; `nil` if none is needed.
    private func read(
        _ habit: Habit,
        _ name: String,
        _ value: Substring?,
        _ rest: inout ArraySlice<String>
    ) throws -> Option? {
        switch habit {
        case .name(let option): return option
        case .isDefault: return nil
        case .advice(let advice): throw UsageError("\(name): \(advice)")
        case .isDefaultWithHyphen:
            guard value ?? rest.popFirst()?[...] == "-" else {
                throw UsageError("\(name): the offset to resume at is found without it; leave it out")
            }
            return nil
        }
    }

    private static func next(
        _ rest: inout ArraySlice<String>,
        for name: String,
        _ entry: Option.Entry
    ) throws -> String {
        guard let value = rest.popFirst() else {
            throw UsageError("\(name): \(entry.argument ?? "an argument") is missing")
        }
        return value
    }

    private mutating func add(_ entry: Option.Entry, _ value: String) {
        values[entry.option, default: []].append(value)
    }
}

struct UsageError: Error, Equatable {
    let message: String

    init(_ message: String) {
        self.message = message
    }

    init(_ option: Option, _ problem: String) {
        self.init("--\(option.rawValue): \(problem)")
    }
}
