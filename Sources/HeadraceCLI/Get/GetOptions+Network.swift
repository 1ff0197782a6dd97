import Headrace
import HeadracePlatform

extension GetOptions {
    mutating func readNetworkOptions(_ arguments: ParsedArguments) throws {
        configuration.certificateAuthorities = arguments.value(.cacert).map(Self.file)
        configuration.pinnedPublicKeys = arguments.all(.pinnedKey)
        if let file = arguments.value(.cert).map(Self.file) {
            configuration.clientCertificate = ClientCertificate(file: file, key: arguments.value(.key).map(Self.file))
        } else if arguments.has(.key) {
            throw UsageError("--key: the certificate is missing; pass it with --cert")
        }
        if let value = arguments.value(.proxy) { configuration.proxy = try Self.proxy(value) }
        configuration.hstsFile = arguments.value(.hsts).map(Self.file)
        if let text = arguments.value(.userAgent) { configuration.userAgent = text }
        configuration.connectionPolicy = try Self.connectionPolicy(arguments)
        do {
            try configuration.validate()
        } catch {
            throw UsageError(error.message)
        }
    }

    /// Reads the netrc file and the cookies, checks that the TLS files are readable, and adds the header field for the
    /// login of `--user`, whose missing password the user is prompted for.
    mutating func readNetworkFiles() async throws {
        let certificate = configuration.clientCertificate
        for (option, file) in [
            (Option.cacert, configuration.certificateAuthorities), (.cert, certificate?.file), (.key, certificate?.key),
        ] {
            if let path = file?.plainPath { try option.reading(path) { try GivenFile.checkReadable(path) } }
        }
        if let path = arguments.value(.netrcFile) {
            configuration.netrc = try Self.netrc(path, .netrcFile)
        } else if arguments.has(.netrc) {
            guard let home = ProcessInfo.processInfo.environment["HOME"], !home.isEmpty else {
                throw UsageError("--netrc: HOME is not set; pass the file with --netrc-file")
            }
            configuration.netrc = try Self.netrc("\(home)/.netrc", .netrc)
        }
        if let path = arguments.value(.cookies) {
            let jar = CookieJar()
            try Option.cookies.reading(path) { try jar.add(netscapeFile: Files.read(path)) }
            configuration.cookies = jar
        }
        guard let user = arguments.value(.user) else { return }
        guard headers["Authorization"] == nil else {
            throw UsageError(.user, "--header 'Authorization: ...' was given too")
        }
        headers.append(try await login(user).field)
    }

    private static func netrc(_ path: String, _ option: Option) throws -> Netrc {
        let bytes = try option.reading(path) { try Files.read(path) }
        guard !Files.isReadableByOthers(path) else {
            let problem = "\(path): other users can read the passwords in this file; protect it with chmod 600"
            throw UsageError(option, problem)
        }
        return try option.reading(path) { try Netrc(parsing: bytes) }
    }

    private func login(_ text: String) async throws -> Credential {
        let parts = Self.parts(ofLogin: text)
        guard let user = parts.first, parts.count == 2 || !user.isEmpty else {
            throw UsageError("--user: the name is empty")
        }
        guard parts.count == 1 else {
            let warning = "--user: other users can see the password; leave it out to be prompted for it"
            if verbosity != .quiet { Console.error.note(warning) }
            return .login(user: user, password: parts[1])
        }
        guard let password = try await PasswordPrompt.read("Password for \(user): ") else {
            throw UsageError("--user: there is no terminal to ask for the password; use --netrc-file instead")
        }
        return .login(user: user, password: password)
    }

    /// Returns the name and the password of `NAME:PASSWORD`; only the name if there is no colon.
    static func parts(ofLogin text: String) -> [String] {
        text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    }

    private static func file(_ path: String) -> URL { URL(givenPath: path, .notDirectory) }

    private static func connectionPolicy(_ arguments: ParsedArguments) throws -> ConnectionPolicy {
        for options in Option.exclusive.map({ $0.filter(arguments.has) }) {
            guard options.count < 2 else { throw UsageError(options[1], "--\(options[0].rawValue) was given too") }
        }
        var policy = ConnectionPolicy()
        if arguments.has(.ipv4) { policy.addressFamily = .ipv4 }
        if arguments.has(.ipv6) { policy.addressFamily = .ipv6 }
        let versions: [(Option, ConnectionPolicy.HTTPVersion)] = [(.http1, .http1), (.http2, .http2), (.http3, .http3)]
        policy.httpVersion = versions.first { arguments.has($0.0) }?.1 ?? .automatic
        policy.interface = arguments.value(.interface)
        policy.addresses = arguments.all(.resolve)
        policy.dnsOverHTTPS = try arguments.value(.dohUrl).map { try Argument.url($0, at: "--doh-url: ") }
        policy.substitutes = arguments.all(.connectTo)
        policy.unixSocket = arguments.value(.unixSocket).map(file)
        return policy
    }

    /// Parses the argument of `--proxy`.
    ///
    /// An empty argument means no proxy; an address without a scheme means an HTTP proxy.
    private static func proxy(_ text: String) throws -> DownloadConfiguration.Proxy {
        guard !text.isEmpty else { return .none }
        guard let url = URL(string: text.contains("://") ? text : "http://\(text)") else {
            throw UsageError("--proxy: \"\(text.withoutCredentials)\" is not a URL")
        }
        return .url(url)
    }
}
