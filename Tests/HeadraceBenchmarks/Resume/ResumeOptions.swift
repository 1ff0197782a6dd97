/// What the comparison of resuming was asked to do.
struct ResumeOptions: Sendable {
    var peers = ResumePeer.all
    var subject: String?
    var directory: String?
    var isJSON = false
    var isStrict = false
    var isHelp = false

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            func value() throws -> String {
                guard let value = rest.popFirst() else { throw BenchmarkError.usage("\(argument) needs a value") }
                return value
            }
            switch argument {
            case "--peers": peers = try Self.peers(named: value())
            case "--subject": subject = try value()
            case "--directory": directory = try value()
            case "--json": isJSON = true
            case "--strict": isStrict = true
            case "--help", "-h": isHelp = true
            default: throw BenchmarkError.usage("resume does not know \(argument)")
            }
        }
    }

    private static func peers(named list: String) throws -> [ResumePeer] {
        let names = list.split(separator: ",").map(String.init)
        if let unknown = names.first(where: { name in !ResumePeer.all.contains { $0.executable == name } }) {
            throw BenchmarkError.usage("unknown peer \(unknown)")
        }
        return ResumePeer.all.filter { names.contains($0.executable) }
    }

    static var help: String {
        var executables: [String] = []
        for peer in ResumePeer.all where !executables.contains(peer.executable) { executables.append(peer.executable) }
        return """
            usage: headrace-bench resume [options]

            Cuts a download of 3,000,000 bytes in the middle, lets the same program go on with it, and answers that in
            \(ResumeCase.allCases.count) ways that a careless client takes for the rest of its file. Tells what each program has in the end.

            options:
              --peers A,B       of \(executables.joined(separator: ", ")) (all that are installed)
              --subject PATH    the headrace to try (the one beside this executable)
              --directory DIR   where the temporary directory goes (.build, else the current directory)
              --json            one JSON object on standard output, and nothing else there
              --strict          exit status 1 when headrace has a wrong file, or refuses without keeping the bytes
              --help            this text
            """
    }
}
