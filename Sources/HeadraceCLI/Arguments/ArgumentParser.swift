import Headrace

/// Splits the words of a command line into options with their arguments, and operands.
struct ArgumentParser {
    private(set) var values: [Option: [String]] = [:]
    private(set) var operands: [String] = []
    private let table: [Option.Entry]
    private var rest: ArraySlice<String>

    init(_ arguments: [String], _ table: [Option.Entry]) throws {
        self.table = table
        rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--" {
                operands += rest
                return
            } else if argument.hasPrefix("--") {
                try readLong(argument.dropFirst(2))
            } else if argument.hasPrefix("-"), argument != "-" {
                try readShort(argument.dropFirst())
            } else {
                operands.append(argument)
            }
        }
    }

    private mutating func readLong(_ text: Substring) throws {
        let name = text.prefix { $0 != "=" }
        let value = name.endIndex == text.endIndex ? nil : text[name.endIndex...].dropFirst()
        guard let entry = table.first(where: { $0.option.rawValue == name }) else {
            if let habit = Habit.find("--\(name)", in: table) {
                guard let option = try read(habit, "--\(name)", value) else { return }
                return try readLong(option.rawValue + text[name.endIndex...])
            }
            let suggestion = Spelling.nearest(to: name, in: table.map(\.option.rawValue)).map { "--\($0)" }
            throw UsageError("--\(name): no such option\(Spelling.hint(suggestion))")
        }
        switch (entry.argument, value) {
        case (nil, nil): add(entry, "")
        case (nil, .some): throw UsageError("--\(name): takes no argument")
        case (.some, .some(let value)): add(entry, String(value))
        case (.some, nil): add(entry, try next(for: "--\(name)", entry))
        }
    }

    private mutating func readShort(_ letters: Substring) throws {
        if letters.count > 1, case .advice(let advice)? = Habit.find("-\(letters)", in: table) {
            throw UsageError("-\(letters): \(advice)")
        }
        var letters = letters
        while let letter = letters.popFirst() {
            // For aria2, `-s16` is a number of connections; for curl, `-s` is silent.
            if letter == "s", letters.isEmpty ? rest.first?.isDigits == true : letters.isDigits {
                let count = letters.isEmpty ? rest.popFirst() ?? "" : String(letters)
                if values[.connections] == nil { try readLong("connections=\(count)") }
                return
            }
            var entry = table.first { $0.short == letter }
            if entry == nil, let habit = Habit.find("-\(letter)", in: table) {
                guard let option = try read(habit, "-\(letter)", letters.isEmpty ? nil : letters) else {
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
            add(entry, letters.isEmpty ? try next(for: "-\(letter)", entry) : String(letters))
            return
        }
    }

    /// Reads an option of another tool, and returns this tool's option with the same meaning; `nil` if none is needed.
    ///
    /// Throws a usage error with advice if this tool has no such option.
    private mutating func read(_ habit: Habit, _ name: String, _ value: Substring?) throws -> Option? {
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

    private mutating func next(for name: String, _ entry: Option.Entry) throws -> String {
        guard let value = rest.popFirst() else {
            throw UsageError("\(name): \(entry.argument ?? "an argument") is missing")
        }
        return value
    }

    private mutating func add(_ entry: Option.Entry, _ value: String) {
        values[entry.option, default: []].append(value)
    }
}
