/// The options of the verb `resume`.
struct ResumeOptions: VerbOptions {
    var peers = ResumePeer.all
    var subject: String?
    var directory: String?
    var isJSON = false
    var isStrict = false

    private static func peers(named list: String) throws -> [ResumePeer] {
        let names = list.split(separator: ",").map(String.init)
        if let unknown = names.first(where: { name in !ResumePeer.all.contains { $0.executable == name } }) {
            throw BenchmarkError.usage("unknown peer \(unknown)")
        }
        return ResumePeer.all.filter { names.contains($0.executable) }
    }

    // MARK: The command line

    static let verb = "resume"

    static let about = """
        usage: headrace-bench resume [options]

        Cuts a download of 3,000,000 bytes in the middle, runs the same program again, and sends one of
        \(ResumeCase.allCases.count) responses that a careless client takes for the rest of the file. Reports what
        each program has in the end.
        """

    static var table: [OptionRow<Self>] {
        var executables: [String] = []
        for peer in ResumePeer.all where !executables.contains(peer.executable) { executables.append(peer.executable) }
        return [
            OptionRow("--peers", "A,B", "some of \(executables.joined(separator: ", ")) (all that are installed)") {
                $0.peers = try peers(named: $1)
            },
            .subject("try", \.subject),
            .directory(\.directory),
            .json(\.isJSON),
            .flag(
                "--strict",
                "exit status 1 if headrace has a wrong file, or fails and loses the old bytes",
                \.isStrict
            ),
        ]
    }
}
