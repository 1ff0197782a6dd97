/// What the power cuts were asked to be.
struct PowercutOptions: Sendable {
    /// From the first sync, which comes after a second, to after the end of a download, which takes four.
    ///
    /// A sync is on record at the next second, so most cuts find a claim.
    static let cutWindow = 1.0...4.5
    /// The bytes per second until the cut: more than the tool lets lie unsynced.
    static let rate = 72 << 20

    var cycles = 200
    var seed = UInt64.random(in: 0...UInt64(UInt32.max))
    var size = 288 << 20
    var subject: String?
    var directory: String?
    var isJSON = false
    var isHelp = false

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            func value() throws -> String {
                guard let value = rest.popFirst() else { throw BenchmarkError.usage("\(argument) needs a value") }
                return value
            }
            switch argument {
            case "--cycles": cycles = try Options.positive(value(), argument)
            case "--seed": seed = UInt64(try Options.positive(value(), argument))
            case "--size": size = try Options.size(value())
            case "--subject": subject = try value()
            case "--directory": directory = try value()
            case "--json": isJSON = true
            case "--help", "-h": isHelp = true
            default: throw BenchmarkError.usage("powercut does not know \(argument)")
            }
        }
    }

    static let help = """
        usage: headrace-bench powercut [options]

        Downloads with --sync into a file system of its own, an ext4 image, and shuts that down at a random moment
        without writing its log, which is what a power cut does. Then checks that every byte that the download's record
        calls durable is there and right, goes on under another boot id, and checks the finished file. Needs Linux, root
        and loop devices; says so and is content where they are missing.

        options:
          --cycles N        how often the power is cut (200)
          --seed S          decides the moments (random, and printed)
          --size BYTES      of each file, K, M and G allowed (288M); it comes with 72 MiB/s
          --subject PATH    the headrace to cut off (the one beside this executable)
          --directory DIR   where the temporary directory with the image goes (.build, else the current directory)
          --json            one JSON object on standard output, and nothing else there
          --help            this text

        exit status: 1 when a record claimed what was not there or was damaged, when a file was wrong, gone or left
        over, or when durable bytes were fetched again
        """
}
