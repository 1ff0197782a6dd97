extension String {
    /// Whether this host is `domain` or a subdomain of it (RFC 6265, section 5.1.3); both must be in lower case.
    ///
    /// An IP address has no subdomains; a domain whose last label consists of digits is part of an address.
    package func isIn(domain: String) -> Bool {
        self == domain || hasSuffix(".\(domain)") && domain.split(separator: ".").last?.isDigits != true
    }
}
