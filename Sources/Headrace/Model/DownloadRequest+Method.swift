public import HeadracePlatform

extension DownloadRequest {
    /// The content that a request sends, such as a query; its type is in the field `Content-Type` of ``headers``.
    ///
    ///     request.method = "POST"
    ///     request.body = .data(Data(#"{"year":2026}"#.utf8))
    ///     request.headers["Content-Type"] = "application/json"
    public enum Body: Sendable, Hashable {
        /// These bytes, up to 1 MiB.
        ///
        /// Secret bytes are not sent to another origin. A manager with a registry would have to save the bytes, so it
        /// rejects secret bytes and more than 64 KiB.
        case data(Data, isSecret: Bool = false)
        /// The bytes of the file at this file URL, up to 64 MiB; a registry saves its path.
        case file(URL)

        static let maxDataBytes = 1 << 20
        static let maxFileBytes = 64 << 20
        static let maxSavedBytes = 64 << 10

        /// Throws `invalidRequest` if a registry cannot save the body.
        func requireSavable() throws(DownloadError) {
            guard case .data(let data, let isSecret) = self, isSecret || data.count > Self.maxSavedBytes else { return }
            let reason =
                isSecret ? "it is secret" : "it has \(data.count) bytes, and the maximum is \(Self.maxSavedBytes)"
            throw DownloadError(
                .invalidRequest,
                "A registry cannot save the body of the request: \(reason). Use a file, or a manager without a registry."
            )
        }

        /// Whether the bytes are secret.
        var isSecret: Bool { if case .data(_, true) = self { true } else { false } }
    }

    /// Whether the library may send the request more than once on its own.
    var mayRepeat: Bool { method == "GET" || isRepeatable }

    /// A text that identifies the method, the body and ``decodesContent``, to distinguish requests of the same URL.
    ///
    /// Empty for a GET without ``decodesContent``.
    var operation: String {
        let coding = decodesContent ? "\ndecoded" : ""
        guard method != "GET" else { return coding }
        let content: String =
            switch body {
            case .data(let data, _): Fingerprint(data.base64EncodedString()).description
            case .file(let file): file.filePath
            case nil: ""
            }
        return "\n\(method)\n\(content)\(coding)"
    }

    /// Throws `invalidRequest` if the method or body is invalid, or cannot be combined with mirrors or a link provider.
    func validateMethod() throws(DownloadError) {
        guard method != "GET" || body != nil else { return }
        let problem: String? =
            switch method {
            case "GET": "A GET request has no body: set the method too, such as POST."
            case "HEAD": "The response to HEAD has no body to download: use DownloadManager.probe(_:) or GET."
            case "CONNECT", "TRACE": "\(method) is no method for downloads."
            default:
                ["GET", "HEAD"].contains(method.uppercased())
                    ? "Methods are case-sensitive: write \(method.uppercased())." : nil
            }
        if let problem { throw DownloadError(.invalidRequest, problem) }
        guard !method.isEmpty, method.utf8.allSatisfy(\.isLetterOrDigit) else {
            throw DownloadError(.invalidRequest, "\"\(method.printable)\" is not a method.")
        }
        guard mayRepeat || mirrors.isEmpty && linkProvider == nil else {
            throw DownloadError(.invalidRequest, "Mirrors and link providers need a request that may be repeated.")
        }
        guard body?.isSecret != true || mirrors.isEmpty && linkProvider == nil else {
            throw DownloadError(.invalidRequest, "A secret body cannot be sent to mirrors or links of other servers.")
        }
        switch body {
        case .data(let data, _) where data.count > Body.maxDataBytes:
            throw DownloadError(
                .invalidRequest,
                "The body has \(data.count) bytes; the maximum is \(Body.maxDataBytes). Use a file for a larger one."
            )
        case .file(let file):
            guard let fault = file.fileFault else { return }
            throw DownloadError(.invalidRequest, "The body \(file.absoluteString) \(fault).")
        case .data, nil: break
        }
    }
}
