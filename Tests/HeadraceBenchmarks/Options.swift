/// What the comparison was asked to do.
struct Options: Sendable {
    var rounds = 5
    var scenes = Scene.all
    var peers = Peer.all
    var subject: String?
    var size: Int?
    var timeout = 600
    var server = OriginServer.Kind.automatic
    var directory: String?
    var isJSON = false
    var isStrict = false
    var isHelp = false

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        var names: [String] = []
        while let argument = rest.popFirst() {
            func value() throws -> String {
                guard let value = rest.popFirst() else { throw BenchmarkError.usage("\(argument) needs a value") }
                return value
            }
            switch argument {
            case "--rounds": rounds = try Self.positive(value(), argument)
            case "--peers": peers = try Self.peers(named: value())
            case "--subject": subject = try value()
            case "--size": size = try Self.size(value())
            case "--timeout": timeout = try Self.positive(value(), argument)
            case "--directory": directory = try value()
            case "--server":
                let name = try value()
                guard let kind = OriginServer.Kind(rawValue: name) else {
                    throw BenchmarkError.usage("--server is auto, nginx or own, not \(name)")
                }
                server = kind
            case "--json": isJSON = true
            case "--strict": isStrict = true
            case "--help", "-h": isHelp = true
            case _ where argument.hasPrefix("-"): throw BenchmarkError.usage("unknown option \(argument)")
            default: names.append(argument)
            }
        }
        if !names.isEmpty {
            scenes = try names.map { name in
                guard let scene = Scene.all.first(where: { $0.name == name }) else {
                    throw BenchmarkError.usage("there is no scene or verb \(name)")
                }
                return scene
            }
        }
    }

    static func positive(_ text: String, _ option: String) throws -> Int {
        guard let number = Int(text), number > 0 else { throw BenchmarkError.usage("\(option) \(text): not a count") }
        return number
    }

    /// Bytes, or a number with K, M or G for the powers of 1024.
    static func size(_ text: String, _ option: String = "--size") throws -> Int {
        let shifts: [Character: Int] = ["K": 10, "M": 20, "G": 30]
        let shift = text.last.flatMap { shifts[$0] }
        let number = try positive(String(shift == nil ? text[...] : text.dropLast()), option)
        guard number <= Int.max >> (shift ?? 0) else { throw BenchmarkError.usage("\(option) \(text): too large") }
        return number << (shift ?? 0)
    }

    private static func peers(named list: String) throws -> [Peer] {
        try list.split(separator: ",").map { name in
            guard let peer = Peer.all.first(where: { $0.name == name }) else {
                throw BenchmarkError.usage("unknown peer \(name)")
            }
            return peer
        }
    }

    static var help: String {
        let scenes = Scene.all.map { "  \($0.name.padded(to: 10))\($0.payload.description), \($0.summary)" }
        let verbs = Verb.all.compactMap { verb in verb.summary.map { "  \(verb.name.padded(to: 12))\($0)" } }
        return """
            usage: swift run -c release headrace-bench [verb] [options] [scene...]

            Fetches the same files with headrace and with the peers that are installed, in turns, from a server
            on this machine; checks every byte; prints medians of wall time, CPU time and peak memory.

            verbs:
            \(verbs.joined(separator: "\n"))

            scenes (all of them by default):
            \(scenes.joined(separator: "\n"))

            options:
              --rounds N        counted rounds, after one that is not counted (5)
              --peers A,B       of \(Peer.all.map(\.name).joined(separator: ", ")) (all that are installed)
              --subject PATH    the headrace to measure (the one beside this executable)
              --size BYTES      total bytes of every scene, K, M and G allowed; small files become fewer, not smaller
              --directory DIR   where the temporary directory goes (.build, else the current directory: a real disk)
              --server KIND     auto, nginx or own (auto: nginx where it is installed)
              --timeout S       how long one run may take (600)
              --json            one JSON object on standard output, and nothing else there
              --strict          exit status 1 when a target is not met
              --help            this text

            exit status: 0 done, 1 a tool failed or a file was wrong (or, with --strict, a target was not met), 2 usage
            """
    }
}
