/// The options of the verb `lines`.
struct LinesOptions: VerbOptions {
    /// The programs in the order of the tables.
    static let programs = [Contender.subjectName] + peers.map(\.name)
    static let peers: [Peer] = [.curl, .aria2, .axel, .wget2]

    var lines = Line.all
    var scenes = LineScene.all
    var programs = Self.programs
    var runs = 3
    var timeout = 300
    var isDefaultsOnly = false
    /// The arguments of an additional run of the subject.
    var trial: [String]?
    var isCheck = false
    var subject: String?
    var directory: String?
    var isJSON = false
    private var isLineGiven = false

    // MARK: The command line

    static let verb = "lines"

    static var about: String {
        let lines = Line.all.map { "  \($0.description)" }.joined(separator: "\n")
        return """
            usage: headrace-bench lines [options]

            Downloads over lines with a rate, a round trip, losses and a queue, from nginx over HTTP, over HTTPS with
            HTTP/1.1 and over HTTPS with HTTP/2, and prints the time as a multiple of what the line alone needs. The
            line is a program between two new network namespaces, which no other program sees. Every program runs with
            its defaults and with its best options. Needs Linux, root, TUN devices, cubic and nginx; without these, says
            so and exits with 0.

            lines:
            \(lines)
            """
    }

    static var table: [OptionRow<Self>] {
        [
            OptionRow(
                "--line",
                "RATE,RTT,LOSS[,QUEUE[,SEED]]",
                "another line, such as 200mbit,120ms,0.02%; repeatable\n(queue in bytes: what the line carries in a "
                    + "round trip)"
            ) { options, text in
                options.lines = (options.isLineGiven ? options.lines : []) + [try Line(text)]
                options.isLineGiven = true
            },
            OptionRow("--scene", "A,B", "some of \(LineScene.all.map(\.name).joined(separator: ", ")) (all)") {
                $0.scenes = try Self.elements($1, of: LineScene.all, named: \.name, "scene")
            },
            OptionRow("--peers", "A,B", "some of \(programs.joined(separator: ", ")) (all that are installed)") {
                $0.programs = try Self.elements($1, of: programs, named: \.self, "peer")
            },
            .flag("--defaults", "no options for the programs", \.isDefaultsOnly),
            OptionRow("--try", "OPTIONS", "one more headrace with these options of get, separated by spaces") {
                $0.trial = $1.split(separator: " ").map(String.init)
            },
            .count("--runs", "runs of each program, whose median counts (3)", \.runs),
            .count("--timeout", "maximum duration of one run in seconds (300)", \.timeout),
            .flag("--check", "measure the lines themselves, without downloads", \.isCheck),
            .subject("measure", \.subject),
            .directory(\.directory),
            .json(\.isJSON),
        ]
    }

    static let notes =
        "exit status: 0 success, 1 a program failed or a file was wrong (or, with --check, a line is not as it should be)"

    private static func elements<Element>(
        _ list: String,
        of all: [Element],
        named name: KeyPath<Element, String>,
        _ kind: String
    ) throws -> [Element] {
        try list.split(separator: ",").map { word in
            guard let element = all.first(where: { $0[keyPath: name] == word }) else {
                throw BenchmarkError.usage("unknown \(kind) \(word)")
            }
            return element
        }
    }
}
