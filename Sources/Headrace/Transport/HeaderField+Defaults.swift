extension [HeaderField] {
    /// With the fields that each request has, where these do not have them.
    func withDefaults(userAgent: String) -> [HeaderField] {
        // What is encoded the system decodes, and then its length proves nothing.
        let defaults = [
            HeaderField(name: "User-Agent", value: userAgent), HeaderField(name: "Accept-Encoding", value: "identity"),
        ]
        return defaults.filter { field in !contains { $0.name.lowercased() == field.name.lowercased() } } + self
    }
}
