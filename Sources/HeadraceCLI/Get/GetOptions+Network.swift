import Headrace

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The options on the way to the servers and on who goes it.
extension GetOptions {
    /// Files that are read before the first download begins.
    struct NetworkFiles: Sendable, Equatable {
        var netrc: String?
        var cookies: String?
    }

    mutating func readNetworkOptions(_ arguments: ParsedArguments) throws(UsageError) {
        configuration.certificateAuthorities = arguments.value(.cacert).map(Self.file)
        configuration.pinnedPublicKeys = arguments.all(.pinnedKey)
        if let file = arguments.value(.cert).map(Self.file) {
            configuration.clientCertificate = ClientCertificate(file: file, key: arguments.value(.key).map(Self.file))
        } else if arguments.has(.key) {
            throw UsageError("--key: it belongs to a certificate; name that with --cert")
        }
        if let value = arguments.value(.proxy) { configuration.proxy = try Self.proxy(value) }
        network.cookies = arguments.value(.cookies)
        network.netrc = arguments.value(.netrcFile)
        if network.netrc == nil, arguments.has(.netrc) {
            guard let home = ProcessInfo.processInfo.environment["HOME"], !home.isEmpty else {
                throw UsageError("--netrc: HOME does not tell where .netrc is; name it with --netrc-file")
            }
            network.netrc = "\(home)/.netrc"
        }
        do throws(DownloadError) {
            try configuration.validate()
        } catch {
            throw UsageError(error.message)
        }
    }

    /// Reads the logins and the cookies, and looks whether the files of TLS can be read.
    mutating func readNetworkFiles() throws(UsageError) {
        let certificate = configuration.clientCertificate
        for (option, file) in [
            (Option.cacert, configuration.certificateAuthorities), (.cert, certificate?.file), (.key, certificate?.key),
        ] {
            guard let path = file?.path(percentEncoded: false) else { continue }
            do throws(Files.Failure) {
                try Files.checkReadable(path)
            } catch {
                throw UsageError("--\(option.rawValue): \(path): \(error.reason)")
            }
        }
        if let path = network.netrc {
            let bytes = try Self.read(path, of: .netrcFile)
            guard Files.isPrivate(path) else {
                throw UsageError("--netrc-file: \(path): others can read the passwords in it; chmod 600 keeps them out")
            }
            configuration.netrc = try Self.parsed(path, of: .netrcFile) { () throws(DownloadError) in
                try Netrc(parsing: bytes)
            }
        }
        if let path = network.cookies {
            let bytes = try Self.read(path, of: .cookies)
            configuration.cookies = try Self.parsed(path, of: .cookies) { () throws(DownloadError) in
                let jar = CookieJar()
                try jar.add(netscapeFile: bytes)
                return jar
            }
        }
    }

    private static func parsed<Value>(
        _ path: String,
        of option: Option,
        _ parse: () throws(DownloadError) -> Value
    ) throws(UsageError) -> Value {
        do throws(DownloadError) {
            return try parse()
        } catch {
            throw UsageError("--\(option.rawValue): \(path): \(error.message)")
        }
    }

    private static func file(_ path: String) -> URL {
        URL(filePath: path, directoryHint: .notDirectory).absoluteURL
    }

    /// A host and a port alone are an HTTP proxy.
    private static func proxy(_ text: String) throws(UsageError) -> DownloadManager.Configuration.Proxy {
        guard !text.isEmpty else { return .none }
        guard let url = URL(string: text.contains("://") ? text : "http://\(text)") else {
            throw UsageError("--proxy: \"\(text.withoutCredentials)\" is not a URL")
        }
        return .url(url)
    }
}
