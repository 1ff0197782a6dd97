/// A change of a list of downloads; one to a download that the list does not have does nothing.
enum RegistryChange: Sendable, Equatable {
    /// Downloads came in; one that is there already is replaced.
    case added([RegistryEntry])
    /// A download has another state.
    case state(UInt64, RegistryEntry.State)
    /// A download has another place.
    case moved(UInt64, label: Int64)
    /// Downloads have other labels, all of them at once: no crash leaves a part of it.
    case relabelled([UInt64: Int64])
    /// A download has another priority.
    case priority(UInt64, Int)
    /// Downloads left the list.
    case removed([UInt64])

    /// How many downloads it tells of: a measure of what reading it costs.
    var recordCount: Int {
        switch self {
        case .added(let entries): entries.count
        case .relabelled(let labels): max(1, labels.count)
        case .removed(let ids): ids.count
        case .state, .moved, .priority: 1
        }
    }
}
