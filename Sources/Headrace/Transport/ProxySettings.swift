import HeadracePlatform

/// Determines the proxy for a URL, without I/O.
struct ProxySettings: Sendable, Hashable {
    /// The proxy for `http` URLs.
    private var http: ProxyServer?
    /// The proxy for `https` URLs.
    private var https: ProxyServer?
    private var exceptions = ProxyExceptions()

    /// Whether a proxy is set for `http` or `https` URLs, even if the exceptions exclude hosts from its use.
    var hasProxy: Bool { http != nil || https != nil }

    /// Creates settings without a proxy.
    init() {}

    /// Creates the settings from a configuration; reads the proxy variables if the configuration refers to them.
    ///
    /// If the configuration sets `allowsAddress` or a UNIX socket, no proxy is used.
    init(
        _ configuration: DownloadConfiguration,
        environment: [String: String]
    ) throws(DownloadError) {
        // A proxy connects to the target itself, so `allowsAddress` could not check the address.
        guard configuration.allowsAddress == nil, configuration.connectionPolicy.unixSocket == nil else { return }
        switch configuration.proxy {
        case .none: break
        case .environment: self = try ProxySettings(environment: environment)
        case .url(let url, let except):
            http = try ProxyServer(parsing: url.absoluteString)
            https = http
            exceptions = ProxyExceptions(except)
        }
    }

    /// Reads the proxy variables that most programs use: `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`.
    ///
    /// `HTTP_PROXY` is ignored: a web server sets it for CGI programs from the request's `Proxy` field.
    init(environment: [String: String]) throws(DownloadError) {
        func value(_ names: String...) -> (name: String, value: String)? {
            for name in names { if let value = environment[name], !value.isEmpty { return (name, value) } }
            return nil
        }
        func server(_ entry: (name: String, value: String)?) throws(DownloadError) -> ProxyServer? {
            guard let entry else { return nil }
            do throws(DownloadError) {
                return try ProxyServer(parsing: entry.value)
            } catch {
                throw DownloadError(error.code, "The environment variable \(entry.name): \(error.message)")
            }
        }
        let all = value("all_proxy", "ALL_PROXY")
        http = try server(value("http_proxy") ?? all)
        https = try server(value("https_proxy", "HTTPS_PROXY") ?? all)
        exceptions = ProxyExceptions(parsing: value("no_proxy", "NO_PROXY")?.value ?? "")
    }

    /// Returns the proxy for a URL, or `nil` for a direct connection.
    func proxy(for url: URL) -> ProxyServer? {
        let proxy = url.isHTTPS ? https : http
        guard let proxy, let host = url.host(percentEncoded: false) else { return nil }
        return exceptions.matches(host, port: url.effectivePort) ? nil : proxy
    }
}

/// The hosts that `no_proxy` or the configuration excludes from the use of a proxy.
struct ProxyExceptions: Sendable, Hashable {
    private enum Host: Sendable, Hashable {
        case any
        /// A host name, which also excludes all its subdomains.
        case name(String)
        case address(IPAddress)
        case block(IPAddress.Block)
    }

    private struct Entry: Sendable, Hashable {
        var host: Host
        /// The port to which the exception is limited; `nil` for all ports of the host.
        var port: Int?
    }

    private var entries: [Entry] = []

    init(_ texts: [String] = []) {
        entries = texts.compactMap(Self.entry)
    }

    /// Parses names, addresses and address blocks, separated by commas or whitespace; ignores anything else.
    init(parsing text: String) {
        self.init(text.split { $0 == "," || $0.isWhitespace }.map(String.init))
    }

    func matches(_ host: String, port: Int) -> Bool {
        guard !entries.isEmpty else { return false }
        let name = Self.name(host)
        let address = IPAddress(host: name)
        return entries.contains { entry in
            guard entry.port ?? port == port else { return false }
            return switch entry.host {
            case .any: true
            case .name(let suffix): address == nil && name.isIn(domain: suffix)
            case .address(let other): address == other
            case .block(let block): address.map(block.contains) ?? false
            }
        }
    }

    private static func entry(_ text: String) -> Entry? {
        var (host, port) = (text[...], Int?.none)
        if host == "*" { return Entry(host: .any) }
        if host.contains("/") { return IPAddress.Block(parsing: host).map { Entry(host: .block($0)) } }
        // More than one colon means an IPv6 address, unless it is in brackets.
        let isBare = !host.hasPrefix("[") && host.utf8.count(where: { $0 == UInt8(ascii: ":") }) > 1
        if !isBare, let colon = host.lastIndex(of: ":"), colon > (host.lastIndex(of: "]") ?? host.startIndex) {
            guard let number = Int64(digits: host[host.index(after: colon)...]), (1...65_535).contains(number) else {
                return nil
            }
            port = Int(number)
            host = host[..<colon]
        }
        if let address = IPAddress(host: String(host)) { return Entry(host: .address(address), port: port) }
        let name = name(host.drop { $0 == "*" || $0 == "." })
        return name.isEmpty ? nil : Entry(host: .name(name), port: port)
    }

    /// Returns the name in lower case without a trailing dot.
    private static func name(_ text: some StringProtocol) -> String {
        let name = text.lowercased()
        return name.hasSuffix(".") ? String(name.dropLast()) : name
    }
}
