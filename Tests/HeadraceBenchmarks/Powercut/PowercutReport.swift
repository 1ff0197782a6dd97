/// The report of the verb `powercut`.
struct PowercutReport: VerbReport {
    let options: PowercutOptions
    var seconds = 0.0
    var cycles = 0
    /// Cuts after the tool had succeeded.
    var finishedBefore = 0
    /// Cuts that left a record with durable bytes.
    var claims = 0
    var claimedBytes = 0
    /// Downloads that resumed from bytes received before the cut.
    var resumes = 0
    var falseClaims = 0
    var damagedRecords = 0
    var wrongFiles = 0
    /// Claims of durable bytes that the next run did not use.
    var forgottenClaims = 0
    var leftovers = 0
    private(set) var violations: [String] = []

    init(options: PowercutOptions) {
        self.options = options
    }

    mutating func complain(_ complaint: String) {
        violations.append("cycle \(cycles) (seed \(options.seed)): \(complaint)")
    }

    private var figures: [(String, Int)] {
        [
            ("cuts", cycles), ("after the end", finishedBefore), ("with a claim", claims), ("resumed", resumes),
            ("false claims", falseClaims), ("damaged records", damagedRecords), ("wrong files", wrongFiles),
            ("claims not used", forgottenClaims), ("left over", leftovers),
        ]
    }

    var text: String {
        var table = Table(columns: figures.map(\.0))
        table.add(figures.map { String($0.1) })
        let head =
            "\(cycles) power cuts in \(Format.decimal(seconds, places: 0)) s, seed \(options.seed), files of "
            + "\(Format.size(options.size)); \(Format.mebibytes(claimedBytes)) MiB were claimed and checked"
        return ([head, ""] + table.lines).joined(separator: "\n")
    }

    var members: [(String, JSON)] {
        let names = [
            "cuts", "finishedBefore", "claims", "resumes", "falseClaims", "damagedRecords", "wrongFiles",
            "forgottenClaims", "leftovers",
        ]
        let counts = zip(names, figures).map { ($0, JSON.integer($1.1)) }
        return [
            ("seed", .integer(Int(clamping: options.seed))), ("size", .integer(options.size)),
            ("seconds", .number(seconds)), ("claimedBytes", .integer(claimedBytes)),
        ] + counts
    }
}
