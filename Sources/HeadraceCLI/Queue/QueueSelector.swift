import Headrace

/// Which downloads of the list a command is about.
struct QueueSelector: Sendable, Equatable {
    /// What the help text says of it.
    static let notes = """
        ID is the id of a download, or its first digits, at least \(leastDigits); its number, as in %3; or all.
        \(numberNotes)
        --group and --state stand alone or with all, and choose from the whole list; both choose what is in both.
        """

    /// What the help text of `queue move` says of its operands.
    static let moveNotes = """
        queue move takes one download: ID is its id, or the first digits of that, at least \(leastDigits), or its number, as
        in %3. PLACE is a position in the list, from 1, or %3 for the position that the download of this number has.
        \(numberNotes)
        """

    private static let numberNotes = """
        A download keeps its number until it is removed, wherever it is moved. The next one gets one more than the
        highest in use, so that an empty list begins at %1 again.
        """

    static let states = words(DownloadState.Kind.allCases.map(\.rawValue))

    private static let leastDigits = 4
    private static let mostDigits = 16

    /// One operand.
    enum Term: Sendable, Equatable {
        case all
        /// The number that the download keeps.
        case number(Int)
        /// The first digits of an id, or all of them.
        case id(String)

        init(_ text: String) throws(UsageError) {
            if text == "all" {
                self = .all
            } else if text.hasPrefix("%") {
                guard let number = Self.number(text) else {
                    throw UsageError("\"\(text)\" is no number of a download, such as %1")
                }
                self = .number(number)
            } else if text.utf8.count <= QueueSelector.mostDigits, text.allSatisfy({ $0.isASCII && $0.isHexDigit }) {
                guard text.utf8.count >= QueueSelector.leastDigits else {
                    throw UsageError(
                        "\"\(text)\" is too short for an id: \(QueueSelector.leastDigits) digits are the least; "
                            + "the number of a download is written with a percent sign, as in %1"
                    )
                }
                self = .id(text.lowercased())
            } else {
                throw UsageError(
                    "\"\(text.withoutCredentials)\" is no id, no number such as %1, and not all; headrace queue list shows them"
                )
            }
        }

        /// The number after a percent sign.
        static func number(_ text: String) -> Int? {
            guard text.hasPrefix("%"), text.dropFirst().allSatisfy({ ("0"..."9").contains($0) }) else { return nil }
            return Int(text.dropFirst()).flatMap { $0 >= 1 ? $0 : nil }
        }
    }

    private let terms: [Term]
    private let group: String?
    private let state: DownloadState.Kind?

    /// The downloads named by the operands, or, without any, by the options.
    init(_ operands: some Collection<String>, _ arguments: ParsedArguments) throws(UsageError) {
        terms = try operands.map { text throws(UsageError) in try Term(text) }
        group = arguments.value(.group)
        state = try arguments.value(.state).map { text throws(UsageError) in try Self.state(text) }
        let isFiltered = group != nil || state != nil
        guard isFiltered || !terms.isEmpty else {
            throw UsageError("no download is named: give ids, numbers such as %1, all, --group or --state")
        }
        guard !isFiltered || terms.allSatisfy({ $0 == .all }) else {
            throw UsageError("--group and --state choose from the whole list; leave the ids away")
        }
    }

    /// Whether each download is named by itself.
    var namesEach: Bool { !terms.isEmpty && !terms.contains(.all) }

    static func state(_ text: String) throws(UsageError) -> DownloadState.Kind {
        guard let state = DownloadState.Kind(rawValue: text) else {
            throw UsageError("--state: \"\(text)\" is none of \(states)")
        }
        return state
    }

    /// The downloads that are meant, in the order of the list; throws where one is not there or could be another.
    func resolve(in list: [DownloadSnapshot]) throws(UsageError) -> [Download.ID] {
        var chosen: Set<Download.ID> = []
        for term in terms where term != .all { chosen.insert(try Self.find(term, in: list).id) }
        guard terms.isEmpty || terms.contains(.all) else { return list.map(\.id).filter(chosen.contains) }
        return try Self.filter(list, group: group, state: state).map(\.id)
    }

    /// The downloads of a group, in a state, or both; throws for a group that nobody is in.
    static func filter(
        _ list: [DownloadSnapshot],
        group: String?,
        state: DownloadState.Kind?
    ) throws(UsageError) -> [DownloadSnapshot] {
        var list = list
        if let group {
            list = list.filter { $0.request.group == group }
            guard !list.isEmpty else { throw UsageError("--group: no download of the list is in \"\(group)\"") }
        }
        if let state { list = list.filter { $0.state.kind == state } }
        return list
    }

    /// The one download of the list that a term means.
    static func find(_ term: Term, in list: [DownloadSnapshot]) throws(UsageError) -> DownloadSnapshot {
        switch term {
        case .all: throw UsageError("all is not one download; give an id or a number such as %1")
        case .number(let number):
            guard let download = list.first(where: { $0.number == number }) else {
                throw UsageError(
                    list.isEmpty
                        ? "%\(number): the list is empty"
                        : "%\(number): no download of the list has this number; headrace queue list shows them"
                )
            }
            return download
        case .id(let digits):
            let found = list.filter { $0.id.description.hasPrefix(digits) }
            guard let first = found.first else {
                throw UsageError("\(digits): no download of the list has this id; headrace queue list shows them")
            }
            guard found.count == 1 else {
                let ids = found.prefix(3).map(\.id.description).joined(separator: ", ")
                throw UsageError(
                    "\(digits): \(found.count) ids begin so: \(ids)\(found.count > 3 ? " and more" : ""); give more digits"
                )
            }
            return first
        }
    }

    /// As in `a, b or c`.
    private static func words(_ words: [String]) -> String {
        words.dropLast().joined(separator: ", ") + " or " + (words.last ?? "")
    }
}

extension QueuePosition {
    /// The operands of `queue move` after the download: first, last, before or after another, a position, or that of another.
    init(_ words: some Collection<String>, in list: [DownloadSnapshot]) throws(UsageError) {
        let words = Array(words)
        switch (words.first, words.count) {
        case ("first", 1): self = .first
        case ("last", 1): self = .last
        case ("before", 2): self = .before(try QueueSelector.find(QueueSelector.Term(words[1]), in: list).id)
        case ("after", 2): self = .after(try QueueSelector.find(QueueSelector.Term(words[1]), in: list).id)
        default:
            let text = words.first ?? ""
            let isNumber = text.hasPrefix("%")
            guard words.count == 1, let value = QueueSelector.Term.number(isNumber ? text : "%" + text) else {
                throw UsageError("a place to move to is first, last, before ID, after ID, a position such as 1, or %1")
            }
            if isNumber {
                let id = try QueueSelector.find(.number(value), in: list).id
                self = list.firstIndex { $0.id == id }.map { .index($0) } ?? .last
            } else {
                guard value <= list.count else {
                    throw UsageError("\(value): the last position of the list is \(list.count)")
                }
                self = .index(value - 1)
            }
        }
    }
}
