extension [HeaderField] {
    /// Returns the fields with the default ones for all requests, which existing fields override.
    func withDefaults(userAgent: String) -> [HeaderField] {
        // URLSession decodes an encoded body, and then its length does not match `Content-Length`.
        let defaults = [
            HeaderField(name: "User-Agent", value: userAgent), HeaderField(name: "Accept-Encoding", value: "identity"),
        ]
        return defaults.filter { field in !contains { $0.name.lowercased() == field.name.lowercased() } } + self
    }
}
