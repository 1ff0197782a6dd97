extension String {
    /// Whether this host is `domain` or a subdomain of it (RFC 6265, section 5.1.3); both must be in lower case, and
    /// neither may be an IP address.
    package func isIn(domain: String) -> Bool {
        self == domain || hasSuffix(".\(domain)")
    }
}
