public import HeadracePlatform

/// What a server lets somebody in for; its text and its reflection show nothing of it.
public struct Credential: Sendable, Hashable {
    private let scheme: AuthenticationScheme
    /// What follows the scheme in the `Authorization` field.
    private let value: String

    private init(_ scheme: AuthenticationScheme, _ value: String) {
        self.scheme = scheme
        self.value = value
    }

    /// A user and a password, for Basic (RFC 7617).
    /// - Parameters:
    ///   - user: The user's name, which cannot have a colon in it.
    ///   - password: The password.
    /// - Returns: The credential.
    public static func basic(user: String, password: String) -> Credential {
        Credential(.basic, Data("\(user):\(password)".utf8).base64EncodedString())
    }

    /// A token, for Bearer (RFC 6750).
    /// - Parameter token: The token; one with a line break in it fails the download it is for.
    /// - Returns: The credential.
    public static func bearer(token: String) -> Credential {
        Credential(.bearer, token)
    }

    /// The field that carries it, which stays with its origin.
    var field: HeaderField {
        let name = scheme == .basic ? "Basic" : "Bearer"
        return HeaderField(name: HeaderField.authorization, value: "\(name) \(value)", isSecret: true)
    }
}

extension Credential: CustomStringConvertible, CustomReflectable {
    /// The scheme alone.
    public var description: String { "\(scheme.rawValue) (not shown)" }

    /// What `dump` and debuggers show: the same as ``description``.
    public var customMirror: Mirror { Mirror(self, children: ["scheme": scheme.rawValue]) }
}

/// A way to log in to an HTTP server.
public enum AuthenticationScheme: String, Sendable, Hashable, CaseIterable {
    /// User and password (RFC 7617).
    case basic
    /// A token (RFC 6750).
    case bearer
}

/// A server's wish to know who asks.
public struct CredentialRequest: Sendable, Hashable {
    /// The URL that was asked, without user and password; its origin is what the credential is for.
    public let url: URL
    /// The ways to log in that the server offers, in its order; none where it does not tell.
    public let schemes: [AuthenticationScheme]
    /// What the server calls the part of it that the login is for, where it tells; of the first of ``schemes``.
    public let realm: String?
    /// The credential that was sent and refused, where one was.
    public let refused: Credential?

    /// Creates a request, as tests of a closure need it.
    /// - Parameters:
    ///   - url: The URL that was asked.
    ///   - schemes: The ways to log in that the server offers.
    ///   - realm: What the server calls the part of it that the login is for.
    ///   - refused: The credential that was refused.
    public init(url: URL, schemes: [AuthenticationScheme], realm: String? = nil, refused: Credential? = nil) {
        self.url = url.withoutCredentials
        self.schemes = schemes
        self.realm = realm
        self.refused = refused
    }
}
