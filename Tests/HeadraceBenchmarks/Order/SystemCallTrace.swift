/// A system call as strace saw it.
struct SystemCall: Sendable {
    let name: String
    /// What is between the parentheses.
    let arguments: String
    let result: Int
    /// The lines of the trace in which it began and had its result.
    let start: Int
    let end: Int

    /// Whether this call was over before another one began.
    func isBefore(_ other: SystemCall) -> Bool {
        end < other.start
    }

    /// The path behind the descriptor that is the first argument, as in `17</folder/file>`.
    var filePath: String? {
        guard let opening = arguments.firstIndex(of: "<"), arguments[..<opening].allSatisfy(\.isNumber),
            let closing = arguments[opening...].firstIndex(of: ">")
        else { return nil }
        return String(arguments[arguments.index(after: opening)..<closing])
    }

    /// The arguments in quotation marks, escapes and all.
    var texts: [String] {
        var texts: [String] = []
        var rest = arguments[...]
        while let opening = rest.firstIndex(of: "\"") {
            var text = ""
            var isEscaped = false
            rest = rest[rest.index(after: opening)...]
            while let character = rest.popFirst(), isEscaped || character != "\"" {
                isEscaped = !isEscaped && character == "\\"
                text.append(character)
            }
            texts.append(text)
        }
        return texts
    }

    /// The number that is the last argument.
    var lastNumber: Int? {
        arguments.lastIndex(of: " ").flatMap { Int(arguments[arguments.index(after: $0)...]) }
    }
}

/// What a traced program did, in the order in which its calls began.
struct SystemCallTrace: Sendable {
    private(set) var calls: [SystemCall] = []

    /// Reads what `strace -f -y -o` writes, which splits a call where another thread's comes between.
    init(_ text: String) {
        var unfinished: [Substring: (name: String, arguments: String, start: Int)] = [:]
        for (number, line) in text.split(separator: "\n").enumerated() {
            guard let space = line.firstIndex(of: " ") else { continue }
            let thread = line[..<space]
            let rest = line[space...].drop { $0 == " " }
            let ending = " <unfinished ...>"
            if rest.hasPrefix("<... ") {
                guard let call = unfinished.removeValue(forKey: thread),
                    let resumed = rest.firstRange(of: " resumed>")?.upperBound
                else { continue }
                add(call.name, call.arguments + rest[resumed...], call.start, number)
            } else if let opening = rest.firstIndex(of: "("), rest.first?.isLetter == true {
                let name = String(rest[..<opening])
                let arguments = rest[rest.index(after: opening)...]
                if arguments.hasSuffix(ending) {
                    unfinished[thread] = (name, String(arguments.dropLast(ending.count)), number)
                } else {
                    add(name, String(arguments), number, number)
                }
            }
        }
        calls.sort { $0.start < $1.start }
    }

    /// Takes a call with its result, unless it has none.
    private mutating func add(_ name: String, _ text: String, _ start: Int, _ end: Int) {
        // The parenthesis that closes the arguments is the last one before the result.
        guard let equals = text.ranges(of: " = ").last else { return }
        let arguments = text[..<equals.lowerBound].reversed().drop { $0 == " " }.dropFirst().reversed()
        let number = text[equals.upperBound...].prefix { $0.isNumber || $0 == "-" }
        guard let result = Int(number) else { return }
        calls.append(SystemCall(name: name, arguments: String(arguments), result: result, start: start, end: end))
    }
}
