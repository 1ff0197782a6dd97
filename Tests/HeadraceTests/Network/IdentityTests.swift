import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// TLS identities: pinned server keys and client certificates.
@Suite(.timeLimit(.minutes(4)), .enabled(if: FaultProxy.speaksTLS, "libssl could not be loaded"))
struct IdentityTests {
    private static let other = "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

    private func run(
        requiresCertificate: Bool = false,
        _ configure: @Sendable (inout DownloadConfiguration, URL) throws -> Void
    ) async throws -> (outcome: NetworkOutcome, requests: Int) {
        try await withTemporaryDirectory { folder in
            let authority = try TestCertificate.writeAuthority(in: folder)
            var configuration = DownloadConfiguration { $0.certificateAuthorities = authority }
            try configure(&configuration, folder)
            return try await withFaultServer(.ok("hello")) { server in
                try await withFaultProxy(
                    to: server,
                    presenting: .trusted,
                    requiresCertificate: requiresCertificate
                ) { proxy in
                    let outcome = try await NetworkFixture.run(proxy.url("/a")) { [configuration] in
                        $0.certificateAuthorities = configuration.certificateAuthorities
                        $0.pinnedPublicKeys = configuration.pinnedPublicKeys
                        $0.clientCertificate = configuration.clientCertificate
                    }
                    return (outcome, server.requests.count)
                }
            }
        }
    }

    @Test(arguments: [([TestCertificate.pin], true), ([other, TestCertificate.pin], true), ([other], false)])
    func `a server whose key is not pinned receives no request`(_ pins: [String], _ isFine: Bool) async throws {
        let (outcome, requests) = try await run { configuration, _ in configuration.pinnedPublicKeys = pins }
        #expect((outcome.bytes == Array("hello".utf8)) == isFine)
        #expect(outcome.error?.code == (isFine ? nil : .tls))
        #expect(outcome.error.map { $0.message.contains("none of the pinned keys") } ?? true, "\(outcome.log)")
        #expect(requests == (isFine ? 1 : 0))
    }

    @Test(arguments: [
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "sha256//", "sha256//AAAA", "sha1//AAAA", "/etc/key.pem",
        "\(other);\(other)", "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    ])
    func `an invalid pin is rejected`(_ text: String) {
        let error = #expect(throws: DownloadError.self) {
            try DownloadConfiguration { $0.pinnedPublicKeys = [text] }.validate()
        }
        #expect(error?.code == .invalidRequest)
    }

    @Test func `a client certificate is presented to a server that requests one`() async throws {
        let (outcome, _) = try await run(requiresCertificate: true) { configuration, folder in
            configuration.clientCertificate = ClientCertificate(file: try TestCertificate.writeClient(in: folder))
        }
        #expect(outcome.bytes == Array("hello".utf8), "\(outcome.log)")
    }

    @Test func `a server that requires a certificate refuses a client without one`() async throws {
        let (outcome, requests) = try await run(requiresCertificate: true) { _, _ in }
        #expect(outcome.error != nil)
        #expect(requests == 0)
    }

    @Test(arguments: ["", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
    func `a certificate that cannot be used is named in the error`(_ text: String) async throws {
        let (outcome, requests) = try await run { configuration, folder in
            let file = folder.appending(path: "broken.pem")
            try Data(text.utf8).write(to: file)
            configuration.clientCertificate = ClientCertificate(file: file)
        }
        #expect(outcome.error?.code == .tls)
        #expect(outcome.error?.message.contains("The client certificate could not be used") == true, "\(outcome.log)")
        #expect(requests == 0)
    }
}
