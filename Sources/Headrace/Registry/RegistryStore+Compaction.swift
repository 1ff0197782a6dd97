extension RegistryStore {
    /// Decides when the journal is compacted, that is, rewritten without its dead records.
    struct Compaction: Sendable {
        /// A smaller journal is not rewritten.
        var minBytes: Int64 = 1 << 20
        /// The minimum ratio of records in the journal to downloads in the queue.
        var factor = 2

        /// Whether a journal of this size, with this number of records, is due for this number of downloads in the queue.
        func isDue(size: Int64, records: Int, live: Int) -> Bool { size >= minBytes && records / factor >= live }
    }
}
