import HeadracePlatform

extension DownloadRequest {
    /// Whether existing files are compared with the request's checksums, so that a matching file is not downloaded
    /// again.
    ///
    /// With `ifChanged`, only checksums are compared: piece hashes serve to copy the correct pieces of the existing
    /// file.
    var comparesExistingFile: Bool {
        switch refetchPolicy {
        case .always: false
        case .ifChanged: !checksums.isEmpty
        case .unlessCurrent: hasChecksums
        }
    }

    /// The properties of the request besides its URL that may affect the contents of the file, as text: the header
    /// fields, the method, the body, and whether the file is decoded.
    ///
    /// Header fields that identify the requester are omitted. The text is empty for a GET request that has no other
    /// header fields and does not decode the file.
    var variant: String {
        guard !headers.isEmpty else { return operation }
        return headers.filter { !$0.identifiesRequester }.map { "\($0.name.lowercased()): \($0.value)" }.sorted()
            .joined(separator: "\n") + operation
    }

    /// Returns a fingerprint of the credentials and the ``variant``, by which a server may select the file; empty if
    /// there are none.
    ///
    /// The credentials are included as a hash of 16 bits, too short to reveal them.
    func requesterFingerprint(_ configuration: DownloadConfiguration) -> String {
        let login = hasCredentials(configuration) ? "credentials \(loginBits(configuration))" : ""
        let text = [login, variant].filter { !$0.isEmpty }.joined(separator: "\n")
        return text.isEmpty ? "" : Fingerprint(text).short
    }

    /// Returns a 16-bit hash of the header fields, logins, cookies and certificate by which a server may identify the
    /// requester, without the logins of the credential provider.
    private func loginBits(_ configuration: DownloadConfiguration) -> String {
        let fields = headers.filter(\.identifiesRequester).map { "\($0.name.lowercased()): \($0.value)" }.sorted()
        var texts = fields + (url.login.map { [$0.user, $0.password] } ?? [])
        if let login = configuration.netrc?.login(for: url) { texts += [login.user, login.password] }
        if let cookies = configuration.cookies?.given(for: url) { texts.append(cookies) }
        if let certificate = configuration.clientCertificate { texts.append(certificate.file.filePath) }
        // The last digits depend on every byte.
        return String(Fingerprint(texts.joined(separator: "\n")).description.suffix(4))
    }

    /// Whether a server may identify the requester, by the request itself or by the manager's credentials.
    private func hasCredentials(_ configuration: DownloadConfiguration) -> Bool {
        url.login != nil || configuration.credentials != nil || configuration.netrc != nil
            || configuration.cookies != nil || configuration.clientCertificate != nil
            || headers.contains(where: \.identifiesRequester)
    }

    /// The policy for an existing file of the same name: `overwrite` if the refetch policy is `ifChanged`, else the
    /// request's conflict policy.
    var replacement: ConflictPolicy { refetchPolicy == .ifChanged ? .overwrite : conflictPolicy }

    /// Returns the request with another link to the same file.
    ///
    /// The identity stays the same, so that the received bytes are found. If the new URL has another origin, the secret
    /// header fields of the request are removed. The secret fields in `fields`, which belong to the new link, replace
    /// fields of the same name.
    func relinked(to link: Link, with fields: [HeaderField] = []) -> DownloadRequest {
        var request = self
        request.identity = identity ?? key.identity.absoluteString
        if Origin(link.url) != Origin(url) { request.headers.removeAll(where: \.isBoundToOrigin) }
        let secrets = fields.filter(\.identifiesRequester)
        for field in secrets { request.headers[field.name] = nil }
        request.headers += secrets
        (request.url, request.urlExpires) = (link.url, link.expires)
        return request
    }
}
