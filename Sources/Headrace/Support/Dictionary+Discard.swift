extension Dictionary {
    /// Forgets a key, where there is any: the library hashes it also for a dictionary that is empty.
    mutating func discard(_ key: Key) {
        if !isEmpty { removeValue(forKey: key) }
    }
}
