package import HeadracePlatform

/// A server certificate for tests.
///
/// All of them share one key. All but the expired one were made with
/// `openssl ca -startdate 20250101000000Z -enddate 21240101000000Z`.
package enum TestCertificate: Sendable, CaseIterable {
    /// Signed by the test authority, for 127.0.0.1.
    case trusted
    /// Like ``trusted``, but expired on 2 January 2020.
    case expired
    /// Signed by the test authority, for example.org.
    case wrongHost
    /// Self-signed, for 127.0.0.1.
    case selfSigned

    /// Writes the authority's certificate for a client to trust, and returns the file's URL.
    package static func writeAuthority(in folder: URL) throws -> URL {
        let file = folder.appending(path: "authority.pem")
        try Data(authority.utf8).write(to: file)
        return file
    }

    /// Writes the ``trusted`` certificate and its key for a client to present, and returns the file's URL.
    package static func writeClient(in folder: URL) throws -> URL {
        let file = folder.appending(path: "client.pem")
        try Data("\(trustedPEM)\n\(privateKey)\n".utf8).write(to: file)
        return file
    }

    /// The pin of the shared key.
    package static var pin: String { "sha256//uO70nFIm1LBM/c7Y7WM79HvxqS21z3DzUNqi5mz7dv4=" }

    /// The certificate in PEM.
    package var pem: String {
        switch self {
        case .trusted: Self.trustedPEM
        case .expired: Self.expiredPEM
        case .wrongHost: Self.wrongHostPEM
        case .selfSigned: Self.selfSignedPEM
        }
    }

    private static let authority = """
        -----BEGIN CERTIFICATE-----
        MIIBdjCCAR2gAwIBAgIBBDAKBggqhkjOPQQDAjAiMSAwHgYDVQQDDBdoZWFkcmFj
        ZSB0ZXN0IGF1dGhvcml0eTAgFw0yNTAxMDEwMDAwMDBaGA8yMTI0MDEwMTAwMDAw
        MFowIjEgMB4GA1UEAwwXaGVhZHJhY2UgdGVzdCBhdXRob3JpdHkwWTATBgcqhkjO
        PQIBBggqhkjOPQMBBwNCAARVGjr7mAC9Tt+fX8aEqWMHUAYmh71l3NoNIAxqc5SE
        R4E7ID3s9LVWS3rzx82KDkmXDyubynALpGUVZlJZDBuCo0IwQDAPBgNVHRMBAf8E
        BTADAQH/MA4GA1UdDwEB/wQEAwIBBjAdBgNVHQ4EFgQUdzWwh/t6JPaxrMmIpq76
        +Ms9HZwwCgYIKoZIzj0EAwIDRwAwRAIgXqM9nn1MU2ZSVZ9silTUI7TUnQDHRfbS
        6POcYGDTCu0CIHRpnQIkyY9gSzP+6pOw6K3CSxQ2znK8DgLL7M1NJb6D
        -----END CERTIFICATE-----
        """

    /// The shared private key in PEM.
    package static let privateKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgPPF3cJGsKvz9hzvm
        o2kbWMdgb9qmxlkTUI4iN8GTXR6hRANCAASxDVqNnp41LulzSFgpgm0+5fZmMyWy
        OaG+uLfkW+jhClEFsEq6rJIZaBuz0N9CdB7b3iFd5WV3ptcwABwxLztW
        -----END PRIVATE KEY-----
        """

    private static let trustedPEM = """
        -----BEGIN CERTIFICATE-----
        MIIBkDCCATagAwIBAgIBATAKBggqhkjOPQQDAjAiMSAwHgYDVQQDDBdoZWFkcmFj
        ZSB0ZXN0IGF1dGhvcml0eTAgFw0yNTAxMDEwMDAwMDBaGA8yMTI0MDEwMTAwMDAw
        MFowFDESMBAGA1UEAwwJbG9jYWxob3N0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcD
        QgAEsQ1ajZ6eNS7pc0hYKYJtPuX2ZjMlsjmhvri35Fvo4QpRBbBKuqySGWgbs9Df
        QnQe294hXeVld6bXMAAcMS87VqNpMGcwGgYDVR0RBBMwEYcEfwAAAYIJbG9jYWxo
        b3N0MAkGA1UdEwQCMAAwHQYDVR0OBBYEFAUa/AZxOdUpdgIkw1ZE4DSgebnxMB8G
        A1UdIwQYMBaAFHc1sIf7eiT2sazJiKau+vjLPR2cMAoGCCqGSM49BAMCA0gAMEUC
        ID49f9R5Q0Y++HVFbadRiOElHabxvFF3muJJsx71hD65AiEA4PF3oCkioVbqLS6e
        e03yOIDJoWKUISu1LIkXmkcXvE4=
        -----END CERTIFICATE-----
        """

    private static let expiredPEM = """
        -----BEGIN CERTIFICATE-----
        MIIBjjCCATSgAwIBAgIBAjAKBggqhkjOPQQDAjAiMSAwHgYDVQQDDBdoZWFkcmFj
        ZSB0ZXN0IGF1dGhvcml0eTAeFw0yMDAxMDEwMDAwMDBaFw0yMDAxMDIwMDAwMDBa
        MBQxEjAQBgNVBAMMCWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IA
        BLENWo2enjUu6XNIWCmCbT7l9mYzJbI5ob64t+Rb6OEKUQWwSrqskhloG7PQ30J0
        HtveIV3lZXem1zAAHDEvO1ajaTBnMBoGA1UdEQQTMBGHBH8AAAGCCWxvY2FsaG9z
        dDAJBgNVHRMEAjAAMB0GA1UdDgQWBBQFGvwGcTnVKXYCJMNWROA0oHm58TAfBgNV
        HSMEGDAWgBR3NbCH+3ok9rGsyYimrvr4yz0dnDAKBggqhkjOPQQDAgNIADBFAiBl
        Lu1/6lRP3mMe0k8+E4Qwl66ngEikVf5z0aqqkk6FggIhAPOvlSlwdp3PhWp6qebj
        UuLKkOQISOFuEAj75Aw95opA
        -----END CERTIFICATE-----
        """

    private static let wrongHostPEM = """
        -----BEGIN CERTIFICATE-----
        MIIBizCCATKgAwIBAgIBAzAKBggqhkjOPQQDAjAiMSAwHgYDVQQDDBdoZWFkcmFj
        ZSB0ZXN0IGF1dGhvcml0eTAgFw0yNTAxMDEwMDAwMDBaGA8yMTI0MDEwMTAwMDAw
        MFowFDESMBAGA1UEAwwJbG9jYWxob3N0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcD
        QgAEsQ1ajZ6eNS7pc0hYKYJtPuX2ZjMlsjmhvri35Fvo4QpRBbBKuqySGWgbs9Df
        QnQe294hXeVld6bXMAAcMS87VqNlMGMwFgYDVR0RBA8wDYILZXhhbXBsZS5vcmcw
        CQYDVR0TBAIwADAdBgNVHQ4EFgQUBRr8BnE51Sl2AiTDVkTgNKB5ufEwHwYDVR0j
        BBgwFoAUdzWwh/t6JPaxrMmIpq76+Ms9HZwwCgYIKoZIzj0EAwIDRwAwRAIgZxdC
        cl03fmbPxhh1+oFvlTtzyMkWrAF7vTfzoUrkYTcCICShfo1MVOFnRZ6B1R3XnMJp
        rq3eaZLwr08Ir9tBimZW
        -----END CERTIFICATE-----
        """

    private static let selfSignedPEM = """
        -----BEGIN CERTIFICATE-----
        MIIBYjCCAQegAwIBAgIBBTAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhv
        c3QwIBcNMjUwMTAxMDAwMDAwWhgPMjEyNDAxMDEwMDAwMDBaMBQxEjAQBgNVBAMM
        CWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABLENWo2enjUu6XNI
        WCmCbT7l9mYzJbI5ob64t+Rb6OEKUQWwSrqskhloG7PQ30J0HtveIV3lZXem1zAA
        HDEvO1ajSDBGMBoGA1UdEQQTMBGHBH8AAAGCCWxvY2FsaG9zdDAJBgNVHRMEAjAA
        MB0GA1UdDgQWBBQFGvwGcTnVKXYCJMNWROA0oHm58TAKBggqhkjOPQQDAgNJADBG
        AiEAn16Ny3ql93CyTJtXWR9AM8iVFquRhq3zoDGvD0wvVtoCIQCsEHjpEv1RcWUI
        0sMVedfnx9wEiU52dQbZ8wGU0wKLIg==
        -----END CERTIFICATE-----
        """
}
