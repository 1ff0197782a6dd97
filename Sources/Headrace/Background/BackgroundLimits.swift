/// Checks settings and requests for features that do not work in a background session, where the system sends requests.
enum BackgroundLimits {
    /// Throws `invalidRequest` if the configuration lacks a registry, or has a setting for connections that the system
    /// would ignore.
    static func check(_ configuration: DownloadConfiguration) throws(DownloadError) {
        guard configuration.registryDirectory != nil else {
            throw DownloadError(
                .invalidRequest,
                "A background session needs a registryDirectory, because its downloads outlive the process."
            )
        }
        let refused: [(String, Bool)] = [
            ("allowsAddress", configuration.allowsAddress != nil),
            ("pinnedPublicKeys", !configuration.pinnedPublicKeys.isEmpty),
            ("certificateAuthorities", configuration.certificateAuthorities != nil),
            ("clientCertificate", configuration.clientCertificate != nil),
            ("proxy", configuration.proxy != .environment),
        ]
        guard let name = refused.first(where: \.1)?.0 else { return }
        throw DownloadError(
            .invalidRequest,
            "\(name) is not supported in a background session, because the system opens the connections. Remove the "
                + "setting, or use a manager without a background session."
        )
    }

    /// Throws `invalidRequest` if a field is secret: the system would save it and send it to redirect targets too.
    static func check(_ fields: [HeaderField]) throws(DownloadError) {
        let secrets = fields.filter(\.isCredential).map(\.name)
        guard secrets.isEmpty else {
            throw DownloadError(
                .invalidRequest,
                "A background session cannot send \(secrets.joined(separator: ", ")): the system stores requests on disk, "
                    + "and sends their fields to redirect targets. Use a signed URL, or a manager without a background "
                    + "session."
            )
        }
    }

    /// Returns the features that the request or the configuration uses, but a background session ignores.
    static func limitations(
        _ request: DownloadRequest,
        _ configuration: DownloadConfiguration
    ) -> [DownloadEvent.BackgroundLimitation] {
        DownloadEvent.BackgroundLimitation.allCases.filter { limitation in
            switch limitation {
            case .severalConnections: configuration.maxConnectionsPerDownload ?? 1 > 1
            case .rateLimits:
                configuration.rateLimit != nil || configuration.rateSchedule != nil || request.rateLimit != nil
                    || request.group.map { configuration.groupRateLimits[$0] != nil } ?? false
            case .minimumSpeed: configuration.minimumSpeed != nil
            case .credentials:
                configuration.credentials != nil || configuration.netrc != nil || configuration.cookies != nil
            case .refetchPolicy:
                request.refetchPolicy != .always && request.checksums.isEmpty && request.pieceHashes == nil
            }
        }
    }
}
