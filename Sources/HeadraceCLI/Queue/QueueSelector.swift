import Headrace

/// Which downloads of the list a command is about.
struct QueueSelector: Sendable, Equatable {
    /// What the help text says of it.
    static let notes = """
        ID is the id of a download, or its first digits, at least \(leastDigits); its place in the list, as in %3; or all.
        --group and --state stand alone or with all, and choose from the whole list; both choose what is in both.
        """

    /// What the help text of `queue move` says of its operands.
    static let moveNotes = """
        queue move takes one download: ID is its id, or the first digits of that, at least \(leastDigits), or its place in the
        list, as in %3. PLACE is a number, as in 3 or %3.
        """

    static let states = words(DownloadState.Kind.allCases.map(\.rawValue))

    private static let leastDigits = 4
    private static let mostDigits = 16

    /// One operand.
    enum Term: Sendable, Equatable {
        case all
        /// Counted from 1.
        case place(Int)
        /// The first digits of an id, or all of them.
        case id(String)

        init(_ text: String) throws(UsageError) {
            if text == "all" {
                self = .all
            } else if text.hasPrefix("%") {
                guard let place = Self.place(text) else {
                    throw UsageError("\"\(text)\" is no place in the list; the first one is %1")
                }
                self = .place(place)
            } else if text.utf8.count <= QueueSelector.mostDigits, text.allSatisfy({ $0.isASCII && $0.isHexDigit }) {
                guard text.utf8.count >= QueueSelector.leastDigits else {
                    throw UsageError(
                        "\"\(text)\" is too short for an id: \(QueueSelector.leastDigits) digits are the least; "
                            + "a place in the list is written with a percent sign, as in %1"
                    )
                }
                self = .id(text.lowercased())
            } else {
                throw UsageError(
                    "\"\(text.withoutCredentials)\" is no id, no place such as %1, and not all; headrace queue list shows them"
                )
            }
        }

        /// The number after a percent sign.
        static func place(_ text: String) -> Int? {
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
            throw UsageError("no download is named: give ids, places such as %1, all, --group or --state")
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
        case .all: throw UsageError("all is not one download; give an id or a place such as %1")
        case .place(let place):
            guard list.indices.contains(place - 1) else {
                throw UsageError(
                    list.isEmpty
                        ? "%\(place): the list is empty" : "%\(place): the last place of the list is %\(list.count)"
                )
            }
            return list[place - 1]
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
    /// A place as the operands of `queue move` tell it: first, last, before or after another, or a place of the list.
    init(_ words: some Collection<String>, in list: [DownloadSnapshot]) throws(UsageError) {
        let words = Array(words)
        switch (words.first, words.count) {
        case ("first", 1): self = .first
        case ("last", 1): self = .last
        case ("before", 2): self = .before(try QueueSelector.find(QueueSelector.Term(words[1]), in: list).id)
        case ("after", 2): self = .after(try QueueSelector.find(QueueSelector.Term(words[1]), in: list).id)
        default:
            let text = words.first ?? ""
            guard words.count == 1, let place = QueueSelector.Term.place(text.hasPrefix("%") ? text : "%" + text) else {
                throw UsageError("a place to move to is first, last, before ID, after ID, or a number such as %1")
            }
            _ = try QueueSelector.find(.place(place), in: list)
            self = .index(place - 1)
        }
    }
}
