extension String {
    /// Whether the host is the domain or a subdomain of it (RFC 6265, section 5.1.3); both must be in lower case, and
    /// must not be IP addresses.
    func isIn(domain: String) -> Bool {
        self == domain || hasSuffix(".\(domain)")
    }
}
