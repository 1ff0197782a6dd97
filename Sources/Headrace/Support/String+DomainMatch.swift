extension String {
    /// Whether this host is `domain` or a subdomain of it (RFC 6265, section 5.1.3); both must be in lower case.
    ///
    /// Does not recognize IP addresses: `10.0.0.1` counts as a subdomain of `0.1`.
    package func isIn(domain: String) -> Bool {
        self == domain || hasSuffix(".\(domain)")
    }
}
