#if canImport(Security)
import Dispatch
import Foundation
import Security

/// Evaluates server certificates with the configuration's certificate authorities and key pins.
struct ServerTrust: Sendable {
    private let queue = DispatchQueue(label: "headrace-trust")
    private let authorities: [[UInt8]]
    private let pins: [String]

    /// Reads the authorities; throws `tls` if the file cannot be read or is not valid PEM, and returns `nil` if neither
    /// authorities nor pins are set.
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

    /// Evaluates the server's certificate; calls `completion` with an error, or with `nil` if the server is trusted.
    ///
    /// The evaluation is asynchronous, because the system may access the network for it.
    func evaluate(
        _ challenge: URLAuthenticationChallenge,
        completion: @escaping @Sendable (DownloadError?) -> Void
    ) {
        let host = challenge.protectionSpace.host
        // SecTrustEvaluateAsyncWithError must be called on the queue on which it delivers the result.
        queue.async { [queue] in
            guard let trust = challenge.protectionSpace.serverTrust else { return completion(.unpinned(host)) }
            guard setAnchors(of: trust) else {
                return completion(
                    DownloadError(.tls, "The certificate authorities could not be used: one is invalid.")
                )
            }
            let status = SecTrustEvaluateAsyncWithError(trust, queue) { trust, isTrusted, error in
                let reason = error.map { CFErrorCopyDescription($0) as String } ?? "it is not trusted"
                completion(isTrusted ? rejection(ofKeyIn: trust, host: host) : .untrusted(host, reason))
            }
            // If the evaluation could not be started, the handler is not called.
            if status != errSecSuccess { completion(.untrusted(host, "it could not be evaluated")) }
        }
    }

    private func setAnchors(of trust: SecTrust) -> Bool {
        guard !authorities.isEmpty else { return true }
        let anchors = authorities.compactMap { SecCertificateCreateWithData(nil, Data($0) as CFData) }
        return anchors.count == authorities.count
            && SecTrustSetAnchorCertificates(trust, anchors as CFArray) == errSecSuccess
            && SecTrustSetAnchorCertificatesOnly(trust, true) == errSecSuccess
    }

    private func rejection(ofKeyIn trust: SecTrust, host: String) -> DownloadError? {
        guard !pins.isEmpty else { return nil }
        let leaf = (SecTrustCopyCertificateChain(trust) as? [SecCertificate])?.first
        let certificate = leaf.map { [UInt8](SecCertificateCopyData($0) as Data) } ?? []
        guard let pin = try? ServerKey.pin(of: certificate), pins.contains(pin) else { return .unpinned(host) }
        return nil
    }
}

extension DownloadError {
    fileprivate static func untrusted(_ host: String, _ reason: String) -> DownloadError {
        DownloadError(.tls, "The secure connection to \(host) failed: \(reason.withoutFullStop).")
    }
}
#endif
