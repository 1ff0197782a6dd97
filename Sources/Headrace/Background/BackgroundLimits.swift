/// What only the app's own process could do, and a background session cannot, since the system sends its requests.
enum BackgroundLimits {
    /// Throws `invalidRequest` for settings that protect somebody and that nobody would obey.
    static func check(_ configuration: DownloadConfiguration) throws(DownloadError) {
        guard configuration.registryDirectory != nil else {
            throw DownloadError(
                .invalidRequest,
                "A background session needs a registryDirectory: its downloads outlive the process."
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
            "\(name) cannot be kept in a background session, whose connections the system makes. Leave it out, or use a "
                + "manager without a background session."
        )
    }

    /// Throws `invalidRequest` for fields with secrets, which the system would write to its disk and send on.
    static func check(_ fields: [HeaderField]) throws(DownloadError) {
        let secrets = fields.filter(\.isCredential).map(\.name)
        guard secrets.isEmpty else {
            throw DownloadError(
                .invalidRequest,
                "A background session cannot carry \(secrets.joined(separator: ", ")): the system writes requests to its "
                    + "disk, and sends their fields on to where it is redirected. Use a signed URL, or a manager without a "
                    + "background session."
            )
        }
    }

    /// What was asked for and is not done, each a sentence.
    static func unmet(_ request: DownloadRequest, _ configuration: DownloadConfiguration) -> [String] {
        let isLimited =
            configuration.rateLimit != nil || configuration.rateSchedule != nil || request.rateLimit != nil
            || request.group.map { configuration.groupRateLimits[$0] != nil } ?? false
        let unmet: [(Bool, String)] = [
            (
                configuration.maxConnectionsPerDownload ?? 1 > 1,
                "A background session fetches a file over one connection."
            ),
            (isLimited, "A background session knows no limits of bytes per second."),
            (
                configuration.minimumSpeed != nil,
                "A background session waits for a slow server as long as the system likes."
            ),
            (
                configuration.credentials != nil || configuration.netrc != nil || configuration.cookies != nil,
                "A background session sends no logins and no cookies: the app may not be there to be asked."
            ),
            (
                request.refetchPolicy != .always && request.checksums.isEmpty && request.pieceHashes == nil,
                "A background session does not ask whether the file has changed, and fetches it again."
            ),
        ]
        return unmet.filter(\.0).map(\.1)
    }
}
