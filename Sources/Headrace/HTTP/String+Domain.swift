extension String {
    /// Whether it is a domain, or one below it (RFC 6265, section 5.1.3); both in lower case, and no addresses.
    func isIn(domain: String) -> Bool {
        self == domain || hasSuffix(".\(domain)")
    }
}
