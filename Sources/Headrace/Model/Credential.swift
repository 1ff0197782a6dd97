public import HeadracePlatform

/// A credential for an HTTP server; its secret never appears in its description or in debuggers.
///
///     configuration.credentials = { request in
///         request.refused == nil ? .login(user: "alice", password: password) : nil
///     }
public struct Credential: Sendable, Hashable {
    private enum Kind: String {
        case login
        case bearer
    }

    private let kind: Kind
    /// The value that follows the scheme in the `Authorization` field.
    ///
    /// The value of a login is that for Basic authentication.
    private let value: String

    private init(_ kind: Kind, _ value: String) {
        self.kind = kind
        self.value = value
    }

    /// Creates a credential for Digest (RFC 7616) or Basic authentication (RFC 7617).
    ///
    /// If the server offers both, Digest is used.
    /// - Parameters:
    ///   - user: The user name, which must not contain a colon.
    ///   - password: The password.
    /// - Returns: The credential.
    public static func login(user: String, password: String) -> Credential {
        Credential(.login, Data("\(user):\(password)".utf8).base64EncodedString())
    }

    /// Creates a credential from a Basic `Authorization` field; `nil` if the field is of another kind.
    init?(_ field: HeaderField) {
        guard let login = field.basicLogin else { return nil }
        self = .login(user: login.user, password: login.password)
    }

    /// Creates a credential for Bearer authentication (RFC 6750).
    /// - Parameter token: The token; a download fails if it contains a line break.
    /// - Returns: The credential.
    public static func bearer(token: String) -> Credential {
        Credential(.bearer, token)
    }

    /// Whether the credential is a user name with a password.
    var isLogin: Bool { kind == .login }

    /// The `Authorization` field for this credential; the field of a login is that for Basic authentication.
    ///
    /// The field is sent only to the origin that the credential is for.
    package var field: HeaderField {
        let name = isLogin ? "Basic" : "Bearer"
        return HeaderField(name: HeaderField.authorization, value: "\(name) \(value)", isSecret: true)
    }
}

extension Credential: CustomStringConvertible, CustomReflectable {
    /// The kind of credential, without the secret.
    public var description: String { "\(kind.rawValue) (not shown)" }

    /// Shows only the kind of credential in `dump` and debuggers.
    public var customMirror: Mirror { Mirror(self, children: ["kind": kind.rawValue]) }
}

/// An HTTP authentication scheme.
public enum AuthenticationScheme: String, Sendable, Hashable, CaseIterable {
    /// Basic authentication with a user name and a password (RFC 7617).
    case basic
    /// Digest authentication with a user name and a hash of the password, by SHA-256 or MD5 (RFC 7616).
    case digest
    /// Bearer authentication with a token (RFC 6750).
    case bearer
}

/// A server's request for a credential, which the manager passes to ``DownloadConfiguration/credentials``.
public struct CredentialRequest: Sendable, Hashable {
    /// The requested URL, without user and password; the credential is sent only to the origin of this URL.
    public let url: URL
    /// The supported schemes that the server offers, in the server's order; empty if its response has no challenge.
    public let schemes: [AuthenticationScheme]
    /// The realm from the first challenge in ``schemes``, if the server sent one.
    public let realm: String?
    /// The credential that was sent and rejected, if any.
    public let refused: Credential?
    /// Whether a server of another origin has chosen ``url``: it redirected to this URL, or named it as a mirror.
    ///
    /// This is `false` for a redirect to https on the same host, and for a mirror in the request.
    public let isRedirected: Bool

    /// Creates a request, for example to test a closure for ``DownloadConfiguration/credentials``.
    /// - Parameters:
    ///   - url: The requested URL.
    ///   - schemes: The schemes that the server offers.
    ///   - realm: The realm of the first challenge.
    ///   - refused: The credential that was rejected.
    ///   - isRedirected: Whether a server of another origin has chosen the URL.
    public init(
        url: URL,
        schemes: [AuthenticationScheme],
        realm: String? = nil,
        refused: Credential? = nil,
        isRedirected: Bool = false
    ) {
        self.url = url.withoutCredentials
        self.schemes = schemes
        self.realm = realm
        self.refused = refused
        self.isRedirected = isRedirected
    }
}
