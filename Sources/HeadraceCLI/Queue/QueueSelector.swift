import Headrace

struct QueueSelector: Sendable, Equatable {
    /// The paragraph of the help text about selecting downloads.
    static let notes = """
        ID is the id of a download or its first digits, at least \(minDigits); its number, such as %3; or all.
        \(numberNotes)
        --group and --state select from the whole queue, alone or with all; together they select what matches both.
        """

    /// The paragraph of the help text about the operands of `queue move`.
    static let moveNotes = """
        queue move moves one download: ID is its id or its first digits, at least \(minDigits), or its number, such as %3.
        POSITION is a position in the queue, from 1, or %3 for the position of the download with this number.
        \(numberNotes)
        """

    private static let numberNotes = """
        A download keeps its number until it is removed, even if it is moved. A new download gets the highest number in
        use plus one, so an empty queue starts at %1 again.
        """

    private static let minDigits = 4
    private static let maxDigits = 16

    enum Term: Sendable, Equatable {
        case all
        case number(Int)
        case id(String)

        init(_ text: String) throws {
            if text == "all" {
                self = .all
            } else if text.hasPrefix("%") {
                guard let number = Self.number(text) else {
                    throw UsageError("\"\(text)\" is not a download number such as %1")
                }
                self = .number(number)
            } else if text.utf8.count <= QueueSelector.maxDigits, text.allSatisfy({ $0.isASCII && $0.isHexDigit }) {
                guard text.utf8.count >= QueueSelector.minDigits else {
                    throw UsageError(
                        "\"\(text)\" is too short for an id, which needs at least \(QueueSelector.minDigits) digits; "
                            + "a download number is written with a percent sign, such as %1"
                    )
                }
                self = .id(text.lowercased())
            } else {
                throw UsageError(
                    "\"\(text.withoutCredentials)\" is not an id, a number such as %1, or all; see headrace queue list"
                )
            }
        }

        /// Returns the number of a download from an operand such as `%3`; `nil` if the operand has another form.
        static func number(_ text: String) -> Int? {
            guard text.hasPrefix("%"), text.dropFirst().allSatisfy({ ("0"..."9").contains($0) }) else { return nil }
            return Int(text.dropFirst()).flatMap { $0 >= 1 ? $0 : nil }
        }
    }

    private let terms: [Term]
    private let group: String?
    let state: DownloadState.Kind?

    /// Creates a selection from the operands, `--group` and `--state`; throws if none is given, or if the options are
    /// combined with ids or numbers.
    init(_ operands: some Collection<String>, _ arguments: ParsedArguments) throws {
        terms = try operands.map { try Term($0) }
        group = arguments.value(.group)
        state = try arguments.choice(.state)
        let isFiltered = group != nil || state != nil
        guard isFiltered || !terms.isEmpty else {
            throw UsageError("no download given; use ids, numbers such as %1, all, --group or --state")
        }
        guard !isFiltered || terms.allSatisfy({ $0 == .all }) else {
            throw UsageError(
                "--group and --state select from the whole queue and cannot be combined with ids or numbers"
            )
        }
    }

    /// Whether the operands name each download individually, instead of selecting by `all`, `--group` or `--state`.
    var namesEach: Bool { !terms.isEmpty && !terms.contains(.all) }

    /// Returns the selected downloads, in the order of the queue; may be empty with `all` or `--state`.
    ///
    /// Throws if an id or number does not match exactly one download, or if no download is in the group of `--group`.
    func resolve(in queue: [DownloadSnapshot]) throws -> [Download.ID] {
        var chosen: Set<Download.ID> = []
        // Scripts pass thousands of complete ids.
        let known = terms.count > 1 ? Dictionary(uniqueKeysWithValues: queue.map { ($0.id.description, $0.id) }) : [:]
        for term in terms where term != .all {
            let id = if case .id(let digits) = term { known[digits] } else { Download.ID?.none }
            chosen.insert(try id ?? Self.find(term, in: queue).id)
        }
        guard terms.isEmpty || terms.contains(.all) else { return queue.map(\.id).filter(chosen.contains) }
        let members = queue.filter { group == nil || $0.request.group == group }
        if let group, members.isEmpty {
            throw UsageError("--group: no download in the queue has the group \"\(group)\"")
        }
        return members.filter { state == nil || $0.state.kind == state }.map(\.id)
    }

    /// Returns the only download of the queue that matches an id or number; throws if there is none or several, or if
    /// the term is `all`.
    static func find(_ term: Term, in queue: [DownloadSnapshot]) throws -> DownloadSnapshot {
        switch term {
        case .all: throw UsageError("all is not a single download; use an id or a number such as %1")
        case .number(let number):
            guard let download = queue.first(where: { $0.number == number }) else {
                throw UsageError(
                    queue.isEmpty
                        ? "%\(number): the queue is empty"
                        : "%\(number): no download in the queue has this number; see headrace queue list"
                )
            }
            return download
        case .id(let digits):
            let found = queue.filter { $0.id.description.hasPrefix(digits) }
            guard let first = found.first else {
                throw UsageError("\(digits): no download in the queue has this id; see headrace queue list")
            }
            guard found.count == 1 else {
                let ids = found.prefix(3).map(\.id.description).joined(separator: ", ")
                throw UsageError(
                    "\(digits): \(found.count) ids start with this: \(ids)\(found.count > 3 ? " and more" : ""); use more digits"
                )
            }
            return first
        }
    }
}

extension QueuePosition {
    /// Parses the operands of `queue move` that follow the download, such as `first` or `before %3`.
    init(_ words: some Collection<String>, in queue: [DownloadSnapshot]) throws {
        let words = Array(words)
        switch (words.first, words.count) {
        case ("first", 1): self = .first
        case ("last", 1): self = .last
        case ("before", 2): self = .before(try QueueSelector.find(QueueSelector.Term(words[1]), in: queue).id)
        case ("after", 2): self = .after(try QueueSelector.find(QueueSelector.Term(words[1]), in: queue).id)
        default:
            let text = words.first ?? ""
            let isNumber = text.hasPrefix("%")
            guard words.count == 1, let value = QueueSelector.Term.number(isNumber ? text : "%" + text) else {
                throw UsageError("the new position must be first, last, before ID, after ID, a number such as 1, or %1")
            }
            if isNumber {
                self = try QueueSelector.find(.number(value), in: queue).position.map { .index($0) } ?? .last
            } else {
                guard value <= queue.count else {
                    throw UsageError("\(value): the last position in the queue is \(queue.count)")
                }
                self = .index(value - 1)
            }
        }
    }
}
