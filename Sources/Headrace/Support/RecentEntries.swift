/// A dictionary that retains the most recently used entries, so that a process that talks to ever more servers does not
/// grow.
///
/// Used entries move to the present generation. Once it is full, it becomes the previous one, and the entries of the
/// old previous generation are dropped. This needs no list in order of use.
struct RecentEntries<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// The number of most recently used entries that are always retained; at most twice as many are stored.
    let capacity: Int
    private var present: [Key: Value] = [:]
    private var previous: [Key: Value] = [:]

    init(capacity: Int = 1000) {
        self.capacity = capacity
    }

    /// The number of stored entries.
    var count: Int { present.count + previous.count }

    /// Whether the key has a value; does not count as a use.
    func contains(_ key: Key) -> Bool { present[key] != nil || previous[key] != nil }

    /// The value of a key; reading it counts as a use.
    subscript(key: Key) -> Value? {
        mutating get {
            if let value = present[key] { return value }
            guard !previous.isEmpty, let value = previous.removeValue(forKey: key) else { return nil }
            insert(value, for: key)
            return value
        }
        set {
            previous.discard(key)
            if let newValue { insert(newValue, for: key) } else { present.discard(key) }
        }
    }

    private mutating func insert(_ value: Value, for key: Key) {
        present[key] = value
        if present.count >= capacity { (previous, present) = (present, [:]) }
    }
}
