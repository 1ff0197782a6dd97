extension [HeaderField] {
    /// The value of the first field with a name, which is case-insensitive; `nil` if there is none.
    ///
    ///     request.headers["Accept"] = "text/plain"
    ///
    /// Setting a value changes the first field with the name, and removes any others; `nil` removes all of them. A new
    /// field is secret only if its name is that of a secret; see ``HeaderField/isSecret``.
    public subscript(name: String) -> String? {
        get { first { $0.isNamed(name) }?.value }
        set {
            let index = firstIndex { $0.isNamed(name) }
            var field = index.map { self[$0] } ?? HeaderField(name: name, value: "")
            removeAll { $0.isNamed(name) }
            guard let newValue else { return }
            field.value = newValue
            insert(field, at: Swift.min(index ?? endIndex, endIndex))
        }
    }
}

extension HeaderField {
    fileprivate func isNamed(_ other: String) -> Bool { name.lowercased() == other.lowercased() }
}
