extension Dictionary {
    /// Removes a key without hashing it if the dictionary is empty, unlike `removeValue(forKey:)`.
    mutating func discard(_ key: Key) {
        if !isEmpty { removeValue(forKey: key) }
    }
}
