extension RegistryStore {
    /// Decides when the journal is compacted, that is, rewritten without its dead records.
    struct Compaction: Sendable {
        /// The minimum size of a journal that is rewritten.
        var minBytes: Int64 = 1 << 20
        /// The minimum ratio of records in the journal to downloads in the queue at which the journal is rewritten.
        var factor = 2

        /// Whether to rewrite a journal of `size` bytes with `records` records, if the queue has `live` downloads.
        func isDue(size: Int64, records: Int, live: Int) -> Bool { size >= minBytes && records / factor >= live }
    }
}
