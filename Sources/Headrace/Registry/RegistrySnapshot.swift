/// The state of a queue, built by applying the changes of its journal.
struct RegistrySnapshot: Sendable {
    /// The downloads, in no particular order.
    private(set) var entries: [RegistryEntry] = []
    /// The index of each download in ``entries``; a dictionary of the entries themselves would take up to three times
    /// the memory.
    private var indices: [UInt64: Int] = [:]

    /// Creates an empty queue.
    init() {}

    /// The downloads in queue order.
    var ordered: [RegistryEntry] { entries.sorted { ($0.label, $0.id) < ($1.label, $1.id) } }

    subscript(id: UInt64) -> RegistryEntry? { indices[id].map { entries[$0] } }

    /// Applies a change.
    ///
    /// Changes are idempotent: applying the last one again, or an earlier one together with all changes after it,
    /// results in the same queue.
    /// - Returns: The identities of downloads that the change refers to but the queue does not contain; empty for
    ///   additions and removals.
    @discardableResult
    mutating func apply(_ change: RegistryChange) -> [UInt64] {
        switch change {
        case .added(let added):
            for entry in added { add(entry) }
            return []
        case .state(let id, let state, let time):
            return update(id) { $0.enter(state, at: time) }
        case .moved(let id, let label):
            return update(id) { $0.label = label }
        case .relabelled(let labels):
            return labels.flatMap { id, label in update(id) { $0.label = label } }
        case .priority(let id, let priority):
            return update(id) { $0.request.priority = priority }
        case .removed(let ids):
            for id in ids { remove(id) }
            return []
        }
    }

    /// Assigns a new number to each download without a number or with a duplicate one.
    ///
    /// If several downloads have the same number, the first of them in queue order keeps it. The journals of earlier
    /// releases have no numbers. The result depends on the entries alone: all processes that read the same journal see
    /// the same numbers.
    /// - Returns: Whether a number was assigned.
    mutating func numberEntries() -> Bool {
        guard Set(entries.lazy.compactMap(\.number)).count < entries.count else { return false }
        var taken: Set<Int> = []
        let unnumbered = ordered.filter { $0.number.map { !taken.insert($0).inserted } ?? true }
        var numbers = DownloadNumbers(taken)
        for entry in unnumbered { _ = update(entry.id) { $0.number = numbers.takeNext() } }
        return true
    }

    private mutating func add(_ entry: RegistryEntry) {
        if let index = indices[entry.id] {
            entries[index] = entry
        } else {
            indices[entry.id] = entries.count
            entries.append(entry)
        }
    }

    private mutating func remove(_ id: UInt64) {
        guard let index = indices.removeValue(forKey: id), let last = entries.popLast() else { return }
        guard last.id != id else { return }
        entries[index] = last
        indices[last.id] = index
    }

    private mutating func update(_ id: UInt64, _ change: (inout RegistryEntry) -> Void) -> [UInt64] {
        guard let index = indices[id] else { return [id] }
        change(&entries[index])
        return []
    }
}

extension RegistrySnapshot: Equatable {
    static func == (left: RegistrySnapshot, right: RegistrySnapshot) -> Bool {
        left.entries.count == right.entries.count && left.entries.allSatisfy { $0 == right[$0.id] }
    }
}
