/// The options of a verb, defined by a table that also generates the help text.
protocol VerbOptions: Sendable {
    /// The name of the verb.
    static var verb: String { get }
    /// The help text before the options.
    static var about: String { get }
    /// The help text after the options; empty for none.
    static var notes: String { get }
    static var table: [OptionRow<Self>] { get }

    /// Whether the result is printed as one JSON object.
    var isJSON: Bool { get }

    /// Creates the default options.
    init()

    /// Handles an argument that is not in the table.
    mutating func take(_ argument: String) throws
}

extension VerbOptions {
    static var notes: String { "" }

    func take(_ argument: String) throws {
        throw BenchmarkError.usage("\(Self.verb): unexpected argument \(argument)")
    }

    /// Parses the arguments after the verb; `nil` if help is requested.
    static func read(_ arguments: [String]) throws -> Self? {
        let table = table
        var options = Self()
        var isHelp = false
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--help" || argument == "-h" {
                isHelp = true
            } else if let row = table.first(where: { $0.name == argument }) {
                guard let value = row.value == nil ? "" : rest.popFirst() else {
                    throw BenchmarkError.usage("\(argument) needs a value")
                }
                try row.set(&options, value)
            } else {
                try options.take(argument)
            }
        }
        return isHelp ? nil : options
    }

    static var help: String {
        let rows = table.map { ($0.title, $0.help) } + [("--help", "this text")]
        let width = (rows.map(\.0.count).max() ?? 0) + 2
        let options = rows.flatMap { title, help in
            help.split(separator: "\n").enumerated().map { index, line in
                "  " + (index == 0 ? title : "").padded(to: width) + line
            }
        }
        return ([about, "", "options:"] + options + (notes.isEmpty ? [] : ["", notes])).joined(separator: "\n")
    }
}

/// An option, for the parser and the help text.
struct OptionRow<Options> {
    let name: String
    /// The placeholder of its value in the help text; `nil` for a flag.
    let value: String?
    let help: String
    let set: (inout Options, String) throws -> Void

    init(_ name: String, _ value: String?, _ help: String, set: @escaping (inout Options, String) throws -> Void) {
        self.name = name
        self.value = value
        self.help = help
        self.set = set
    }

    fileprivate var title: String { name + (value.map { " \($0)" } ?? "") }
}

extension OptionRow {
    static func flag(_ name: String, _ help: String, _ path: WritableKeyPath<Options, Bool>) -> OptionRow {
        OptionRow(name, nil, help) { options, _ in options[keyPath: path] = true }
    }

    static func text(
        _ name: String,
        _ value: String,
        _ help: String,
        _ path: WritableKeyPath<Options, String?>
    ) -> OptionRow {
        OptionRow(name, value, help) { $0[keyPath: path] = $1 }
    }

    static func count(
        _ name: String,
        _ help: String,
        _ path: WritableKeyPath<Options, Int>,
        atLeast least: Int = 1
    ) -> OptionRow {
        OptionRow(name, "N", help) { $0[keyPath: path] = try OptionValue.count($1, name, atLeast: least) }
    }

    static func size(_ name: String, _ help: String, _ path: WritableKeyPath<Options, Int>) -> OptionRow {
        OptionRow(name, "BYTES", help) { $0[keyPath: path] = try OptionValue.size($1, name) }
    }

    static func number(
        _ name: String,
        _ value: String,
        _ help: String,
        _ path: WritableKeyPath<Options, Double>
    ) -> OptionRow {
        OptionRow(name, value, help) { $0[keyPath: path] = try OptionValue.number($1, name) }
    }

    static func counts(_ name: String, _ help: String, _ path: WritableKeyPath<Options, [Int]>) -> OptionRow {
        OptionRow(name, "LIST", help) { options, text in
            options[keyPath: path] = try text.split(separator: ",").map { try OptionValue.count(String($0), name) }
        }
    }

    // MARK: Options of several verbs

    static func seed(_ what: String, _ path: WritableKeyPath<Options, UInt64>) -> OptionRow {
        OptionRow("--seed", "S", "determines \(what) (default: random, and printed)") {
            $0[keyPath: path] = UInt64(try OptionValue.count($1, "--seed"))
        }
    }

    static func subject(_ use: String, _ path: WritableKeyPath<Options, String?>) -> OptionRow {
        .text("--subject", "PATH", "the headrace to \(use) (the one beside this executable)", path)
    }

    /// The location matters more if the disk's speed is measured.
    static func directory(_ path: WritableKeyPath<Options, String?>, isDiskMeasured: Bool = false) -> OptionRow {
        let place = ".build, or else the current directory\(isDiskMeasured ? ": a real disk" : "")"
        return .text("--directory", "DIR", "parent of the temporary directory (\(place))", path)
    }

    static func json(_ path: WritableKeyPath<Options, Bool>) -> OptionRow {
        .flag("--json", "print one JSON object on standard output, and nothing else", path)
    }
}

/// Parses the values of options.
enum OptionValue {
    static func count(_ text: String, _ option: String, atLeast least: Int = 1) throws -> Int {
        guard let number = Int(text), number >= least else {
            throw BenchmarkError.usage("\(option) \(text): not a count")
        }
        return number
    }

    /// Parses a number of bytes, with an optional suffix K, M or G for powers of 1024.
    static func size(_ text: String, _ option: String) throws -> Int {
        let shifts: [Character: Int] = ["K": 10, "M": 20, "G": 30]
        let shift = text.last.flatMap { shifts[$0] }
        let number = try count(String(shift == nil ? text[...] : text.dropLast()), option)
        guard number <= Int.max >> (shift ?? 0) else { throw BenchmarkError.usage("\(option) \(text): too large") }
        return number << (shift ?? 0)
    }

    static func number(_ text: String, _ option: String) throws -> Double {
        guard let number = Double(text), number > 0 else {
            throw BenchmarkError.usage("\(option) \(text): not a number")
        }
        return number
    }
}
