extension Dictionary {
    /// Removes a key; unlike `removeValue(forKey:)`, does not hash the key if the dictionary is empty.
    mutating func discard(_ key: Key) {
        if !isEmpty { removeValue(forKey: key) }
    }
}
