/// The downloads of a queue, by their identities, with the groups and the numbers in use.
struct DownloadTable: Sendable {
    private(set) var records: [DownloadID: DownloadRecord] = [:]
    private var numbers = DownloadNumbers()
    private var groups: [String: Set<DownloadID>] = [:]
    private let random: RandomSource

    init(random: RandomSource) { self.random = random }

    /// Reserves the numbers of stored downloads, so that new ones do not get them; call it while the table is empty.
    mutating func reserve(_ reserved: [Int]) { numbers = DownloadNumbers(reserved) }

    /// The number that the next added download gets.
    var nextNumber: Int { numbers.next }

    /// Returns an identity that no download has.
    func newID() -> DownloadID {
        var random = random
        var id: DownloadID
        repeat { id = .random(using: &random) } while records[id] != nil
        return id
    }

    mutating func insert(_ record: DownloadRecord) {
        records[record.id] = record
        numbers.take(record.number)
        if let group = record.requested({ $0.group }) { groups[group, default: []].insert(record.id) }
    }

    mutating func remove(_ id: DownloadID) -> DownloadRecord? {
        guard let record = records.removeValue(forKey: id) else { return nil }
        numbers.release(record.number)
        if let group = record.requested({ $0.group }) {
            groups[group]?.remove(id)
            if groups[group]?.isEmpty == true { groups[group] = nil }
        }
        return record
    }

    /// Returns whether a download can be moved to a position; `false` if the download is not in the queue, or if the
    /// position is directly before or after the download itself.
    ///
    /// Throws `unknownDownload` if the position is an index out of range, or relative to a download not in the queue.
    func mayMove(_ id: DownloadID, to position: QueuePosition) throws(DownloadError) -> Bool {
        guard records[id] != nil else { return false }
        switch position {
        case .before(let other), .after(let other):
            guard records[other] != nil else { throw .unknown(other) }
            guard other != id else { return false }
        case .index(let index):
            guard records.count > index, index >= 0 else {
                let message = "The queue has no position \(index): it has \(records.count) downloads, counted from 0."
                throw DownloadError(.unknownDownload, message)
            }
        case .first, .last: break
        }
        return true
    }

    /// Returns the selected downloads: those selected by identity in the given order, others in queue order.
    ///
    /// Throws `unknownDownload` for an unknown identity, unless `skippingUnknown` is set.
    func ids(
        _ selection: DownloadSelection,
        in order: QueueOrder,
        skippingUnknown: Bool
    ) throws(DownloadError) -> [DownloadID] {
        switch selection {
        case .all: return order.ids
        case .downloads(let ids) where skippingUnknown: return ids.filter { records[$0] != nil }
        case .downloads(let ids):
            for id in ids where records[id] == nil { throw .unknown(id) }
            return ids
        case .group(let group):
            let ids = groups[group, default: []]
            return ids.count < 2 ? Array(ids) : order.sorted(ids)
        case .url(let url): return order.ids.filter { records[$0]?.requested { $0.url } == url }
        case .state(let kind): return order.ids.filter { records[$0]?.status.state.kind == kind }
        }
    }
}
