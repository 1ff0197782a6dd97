/// A change of a queue; a change of a download that is not in the queue has no effect.
enum RegistryChange: Sendable, Equatable {
    /// Downloads were added; an existing entry of the same identity is replaced.
    case added([RegistryEntry])
    /// The state of a download changed; `at` is the time of a start or of an end, in milliseconds since 1970.
    ///
    /// The time is `nil` for other states, for a retry, which is not a start, and in the journals of earlier releases.
    case state(UInt64, RegistryEntry.State, at: Int64? = nil)
    /// The label of a download, which determines its position in the queue, changed.
    case moved(UInt64, label: Int64)
    /// All downloads got new labels, which are written as one line, so a crash leaves all or none of them.
    case relabelled([UInt64: Int64])
    /// The priority of a download changed.
    case priority(UInt64, Int)
    /// Downloads were removed.
    case removed([UInt64])

    /// The number of downloads in the change, which determines the cost of reading it.
    var recordCount: Int {
        switch self {
        case .added(let entries): entries.count
        case .relabelled(let labels): max(1, labels.count)
        case .removed(let ids): ids.count
        case .state, .moved, .priority: 1
        }
    }
}
