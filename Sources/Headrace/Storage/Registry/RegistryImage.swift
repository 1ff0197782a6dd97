/// A list of downloads as its changes have made it.
struct RegistryImage: Sendable, Equatable {
    /// The downloads by the number behind their identity.
    private(set) var entries: [UInt64: RegistryEntry] = [:]
    /// The limits by their names; empty where none were set.
    private(set) var limits: [String: Int64] = [:]

    /// Creates an empty list.
    init() {}

    /// The downloads in the order of the list.
    var ordered: [RegistryEntry] { orderedIDs.compactMap { entries[$0] } }

    var orderedIDs: [UInt64] { entries.values.map { ($0.label, $0.id) }.sorted { $0 < $1 }.map(\.1) }

    /// Makes a change.
    /// - Returns: The downloads that it would have changed and the list does not have; one to be removed is not missed.
    @discardableResult
    mutating func apply(_ change: RegistryChange) -> [UInt64] {
        switch change {
        case .added(let added):
            for entry in added { entries[entry.id] = entry }
            return []
        case .state(let id, let state):
            return update(id) { $0.state = state }
        case .moved(let id, let label):
            return update(id) { $0.label = label }
        case .relabelled(let labels):
            return labels.flatMap { id, label in update(id) { $0.label = label } }
        case .priority(let id, let priority):
            return update(id) { $0.request.priority = priority }
        case .removed(let ids):
            for id in ids { entries[id] = nil }
            return []
        case .limits(let limits):
            self.limits = limits
            return []
        }
    }

    private mutating func update(_ id: UInt64, _ change: (inout RegistryEntry) -> Void) -> [UInt64] {
        guard let index = entries.index(forKey: id) else { return [id] }
        change(&entries.values[index])
        return []
    }
}
