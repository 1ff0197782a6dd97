/// A parsed command line: the arguments of each option, and the operands.
struct ParsedArguments: Sendable, Equatable {
    private(set) var values: [Option: [String]] = [:]
    private(set) var operands: [String] = []
    /// The settings of the configuration file for options that the command line lacks; ``located(_:)`` names their
    /// lines.
    ///
    /// If this instance stands for a section of the file, the settings of that section.
    private var defaults: [ConfigurationFile.Setting] = []
    /// The options for requests in the configuration file, by the host that they apply to.
    private(set) var sections: [ConfigurationFile.Section] = []

    init(_ section: ConfigurationFile.Section) {
        defaults = section.settings
        values = Dictionary(grouping: defaults, by: \.option).mapValues { $0.map(\.value) }
    }

    /// Parses the arguments after the command, with the options in `table`.
    init(_ arguments: [String], table: [Option.Entry] = Option.table) throws {
        let parser = try ArgumentParser(arguments, table)
        (values, operands) = (parser.values, parser.operands)
    }

    /// The options on the command line; for a section of the configuration file, the options in that section.
    var given: Set<Option> { Set(values.keys) }

    /// Adds the settings of the configuration file for the options of the command.
    ///
    /// Options for requests are added to ``sections``. The others become defaults, unless the command line overrides
    /// them. Logins and header fields are added even if the command has no options for them, so that `queue run` can
    /// supply logins and tokens.
    mutating func add(_ file: ConfigurationFile, for verb: Verb) {
        let known = Set(verb.options.map(\.option))
        let overridden = Set(Option.alternatives.filter { !$0.allSatisfy { values[$0] == nil } }.joined())
        defaults = file.sections[0].settings.filter { setting in
            known.contains(setting.option) && values[setting.option] == nil && !overridden.contains(setting.option)
                && !ConfigurationFile.requestOptions.contains(setting.option)
        }
        sections = file.sections.map { section in
            let settings = section.settings.filter {
                ([.user, .header, .headerEverywhere].contains($0.option) || known.contains($0.option))
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
