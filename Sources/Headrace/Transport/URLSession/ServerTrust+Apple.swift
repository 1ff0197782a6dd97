#if canImport(Security)
import Foundation
import Security

/// Evaluates servers according to the configuration's authorities and pins.
struct ServerTrust: Sendable {
    private let authorities: [[UInt8]]
    private let pins: [String]

    /// Reads the authorities; returns `nil` if the system's default evaluation suffices.
    init?(_ configuration: DownloadConfiguration) throws(DownloadError) {
        pins = configuration.pinnedPublicKeys
        if let file = configuration.certificateAuthorities {
            let text = try? String(contentsOf: file, encoding: .utf8)
            guard let certificates = text.flatMap(ServerKey.certificates(inPEM:)) else {
                throw DownloadError(
                    .tls,
                    "The certificate authorities could not be read: \(file.filePath) is not a PEM file."
                )
            }
            authorities = certificates
        } else {
            authorities = []
            if pins.isEmpty { return nil }
        }
    }

    /// Returns why a server is not trusted, or `nil` if it is.
    ///
    /// Blocks, because the system may access the network.
    func refusal(of trust: SecTrust, host: String) -> DownloadError? {
        if !authorities.isEmpty {
            let anchors = authorities.compactMap { SecCertificateCreateWithData(nil, Data($0) as CFData) }
            guard anchors.count == authorities.count,
                SecTrustSetAnchorCertificates(trust, anchors as CFArray) == errSecSuccess,
                SecTrustSetAnchorCertificatesOnly(trust, true) == errSecSuccess
            else { return DownloadError(.tls, "The certificate authorities could not be used: one is invalid.") }
        }
        var error: CFError?
        guard SecTrustEvaluateWithError(trust, &error) else {
            let reason = error.map { CFErrorCopyDescription($0) as String } ?? "it is not trusted"
            return DownloadError(.tls, "The secure connection to \(host) failed: \(reason).")
        }
        guard !pins.isEmpty else { return nil }
        let leaf = (SecTrustCopyCertificateChain(trust) as? [SecCertificate])?.first
        let certificate = leaf.map { [UInt8](SecCertificateCopyData($0) as Data) } ?? []
        guard let pin = try? ServerKey.pin(of: certificate), pins.contains(pin) else { return .unpinned(host) }
        return nil
    }
}
#endif
