extension [HeaderField] {
    /// Returns the fields together with the default fields of all requests; existing fields override the defaults.
    func withDefaults(userAgent: String) -> [HeaderField] {
        // No coding is accepted: URLSession would decode the body, and its length would not match `Content-Length`.
        let defaults = [
            HeaderField(name: "User-Agent", value: userAgent), HeaderField(name: "Accept-Encoding", value: "identity"),
        ]
        return defaults.filter { field in !contains { $0.name.lowercased() == field.name.lowercased() } } + self
    }
}
