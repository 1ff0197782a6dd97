/// The report of the verb `queue`: figures, some of which have a goal.
struct QueueReport: VerbReport {
    enum Unit: String, Sendable {
        case seconds = "s"
        case bytes = "B"
        case microseconds = "us"
        case ratio = "x"
        case count = ""

        func text(_ value: Double) -> String {
            switch self {
            case .seconds: Format.decimal(value, places: 3) + " s"
            case .bytes: Format.decimal(value, places: 0) + " B"
            case .microseconds: Format.decimal(value, places: 1) + " us"
            case .ratio: Format.ratio(value)
            case .count: Format.decimal(value, places: 0)
            }
        }
    }

    private struct Figure {
        let name: String
        let value: Double
        let unit: Unit
        /// The highest acceptable value.
        let goal: Double?

        var isMet: Bool? { goal.map { value <= $0 } }
        var title: String { String(name.drop { $0 == " " }) }
    }

    let options: QueueOptions
    private var figures: [Figure] = []

    init(options: QueueOptions) {
        self.options = options
    }

    mutating func add(_ name: String, _ value: Double, _ unit: Unit, goal: Double? = nil) {
        figures.append(Figure(name: name, value: value, unit: unit, goal: goal))
    }

    /// The figures' titles, in which an indented name gets the last unindented one as a prefix.
    private var titles: [String] {
        var subject = ""
        return figures.map { figure in
            guard figure.name.hasPrefix(" ") else {
                subject = figure.name
                return subject
            }
            return "\(subject): \(figure.title)"
        }
    }

    var violations: [String] {
        zip(titles, figures).compactMap { title, figure in
            guard let goal = figure.goal, figure.isMet == false else { return nil }
            return "\(title): \(figure.unit.text(figure.value)); the limit is \(figure.unit.text(goal))"
        }
    }

    var text: String {
        var table = Table(columns: ["figure", "value", "goal", ""])
        for figure in figures {
            let verdict = figure.isMet.map { $0 ? "met" : "NOT MET" } ?? ""
            table.add([
                figure.name, figure.unit.text(figure.value), figure.goal.map { figure.unit.text($0) } ?? "", verdict,
            ])
        }
        return table.lines.joined(separator: "\n")
    }

    var members: [(String, JSON)] {
        [
            ("downloads", .integer(options.downloads)), ("atOnce", .integer(options.atOnce)),
            (
                "figures",
                .array(
                    zip(titles, figures).map { title, figure in
                        .object([
                            ("name", .string(title)), ("value", .number(figure.value)),
                            ("unit", .string(figure.unit.rawValue)), ("goal", figure.goal.map { .number($0) } ?? .null),
                            ("isMet", figure.isMet.map { .bool($0) } ?? .null),
                        ])
                    }
                )
            ),
        ]
    }
}
