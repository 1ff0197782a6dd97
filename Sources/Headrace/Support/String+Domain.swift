extension String {
    /// Whether the host is the domain or below it (RFC 6265, section 5.1.3); both in lower case, and neither an IP address.
    func isIn(domain: String) -> Bool {
        self == domain || hasSuffix(".\(domain)")
    }
}
