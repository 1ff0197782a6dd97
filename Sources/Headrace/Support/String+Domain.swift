extension String {
    /// Whether this host is `domain` or one of its subdomains (RFC 6265, section 5.1.3).
    ///
    /// Both must be in lower case, and must not be IP addresses.
    func isIn(domain: String) -> Bool {
        self == domain || hasSuffix(".\(domain)")
    }
}
