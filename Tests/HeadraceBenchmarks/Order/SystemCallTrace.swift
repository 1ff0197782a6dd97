/// A system call in strace's output.
struct SystemCall: Sendable {
    let name: String
    /// The text between the parentheses.
    let arguments: String
    let result: Int
    /// The lines of the trace in which the call started and returned.
    let start: Int
    let end: Int

    /// Whether this call returned before another one started.
    func isBefore(_ other: SystemCall) -> Bool {
        end < other.start
    }

    /// The path of the descriptor in the first argument, such as `17</folder/file>`.
    var filePath: String? {
        guard let opening = arguments.firstIndex(of: "<"), arguments[..<opening].allSatisfy(\.isNumber),
            let closing = arguments[opening...].firstIndex(of: ">")
        else { return nil }
        return String(arguments[arguments.index(after: opening)..<closing])
    }

    /// The quoted arguments, with their escapes.
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

    /// The last argument, if it is a number.
    var lastNumber: Int? {
        arguments.lastIndex(of: " ").flatMap { Int(arguments[arguments.index(after: $0)...]) }
    }
}

/// The system calls of a program, in the order in which they started.
struct SystemCallTrace: Sendable {
    private(set) var calls: [SystemCall] = []

    /// Parses the output of `strace -f -y -o`, which splits a call if another thread's call comes in between.
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

    /// Adds a call unless it has no numeric result.
    private mutating func add(_ name: String, _ text: String, _ start: Int, _ end: Int) {
        // The arguments end at the last parenthesis before the result.
        guard let equals = text.ranges(of: " = ").last else { return }
        let arguments = text[..<equals.lowerBound].reversed().drop { $0 == " " }.dropFirst().reversed()
        let number = text[equals.upperBound...].prefix { $0.isNumber || $0 == "-" }
        guard let result = Int(number) else { return }
        calls.append(SystemCall(name: name, arguments: String(arguments), result: result, start: start, end: end))
    }
}
