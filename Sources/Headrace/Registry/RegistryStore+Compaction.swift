extension RegistryStore {
    /// Decides when the journal is compacted, that is, rewritten without its dead records.
    struct Compaction: Sendable {
        /// The minimum size of a journal that is rewritten.
        var minBytes: Int64 = 1 << 20
        /// The minimum ratio of records in the journal to downloads in the queue at which the journal is rewritten.
        var factor = 2

        /// Whether a journal of this size, with this number of records, should be rewritten for this number of
        /// downloads.
        func isDue(size: Int64, records: Int, live: Int) -> Bool { size >= minBytes && records / factor >= live }
    }
}
