#if os(Linux)
import CHeadrace
import HeadracePlatform

/// Sets the options of an easy handle that follow from the request and the configuration.
struct CurlOptions {
    /// libcurl's default limit on the age of cached addresses (CURLOPT_DNS_CACHE_TIMEOUT).
    private static let dnsCacheSeconds = 60

    let handle: hr_easy
    let request: TransportRequest

    /// Throws if libcurl rejected an option that the request depends on.
    func require(_ code: hr_code) throws(DownloadError) {
        guard code == HR_E_OK else { throw rejected(code) }
    }

    /// Sets an option that is not essential; ignores a failure.
    func set(_ option: hr_easy_option, _ value: Int) {
        _ = hr_easy_set_long(handle, option, value)
    }

    /// Limits the connections and the cached addresses that the request may reuse.
    ///
    /// If the rule limits the idle time of connections, the age of cached addresses has the same limit, but at most
    /// libcurl's default; with `usesDNSOverHTTPS`, it has none. Throws if the request requires a public address, and
    /// libcurl cannot ensure a new connection.
    func set(_ reuse: ConnectionReuse.Rule, usesDNSOverHTTPS: Bool) throws(DownloadError) {
        // `avoidsHTTP2`: some libcurl releases would reuse an HTTP/2 connection all the same.
        // `mayRepeat`: the server may close an idle connection just when the request is sent on it.
        if request.avoidsHTTP2 || !request.mayRepeat { set(HR_OPT_FRESH_CONNECT, 1) }
        if request.requiresPublicAddress {
            // The address of an open connection was not checked.
            try require(hr_easy_set_long(handle, HR_OPT_FRESH_CONNECT, 1))
            set(HR_OPT_FORBID_REUSE, 1)
        }
        let addressSeconds: Int
        switch reuse {
        case .any: return
        case .idle(let seconds):
            set(HR_OPT_MAXAGE_CONN, seconds)
            addressSeconds = min(seconds, Self.dnsCacheSeconds)
        case .none:
            set(HR_OPT_FRESH_CONNECT, 1)
            addressSeconds = 0
            // Otherwise consecutive requests would leave many idle connections, none of which counts toward the
            // maximum number of connections to the host.
            set(HR_OPT_FORBID_REUSE, 1)
        }
        // With this option, libcurl's lookups over HTTPS would find no address.
        if !usesDNSOverHTTPS { set(HR_OPT_DNS_CACHE_TIMEOUT, addressSeconds) }
    }

    /// Sets the URL, the method, the body, the header fields, the proxy and TLS.
    ///
    /// Returns the list of header fields. The caller must keep it alive, because libcurl does not copy it.
    func setRequest(_ configuration: DownloadConfiguration) throws(DownloadError) -> CurlHeaderList {
        try require(hr_easy_set_string(handle, HR_OPT_URL, request.url.absoluteString))
        // Digest covers the path as it is sent; newer libcurls would also remove encoded dot segments.
        set(HR_OPT_PATH_AS_IS, 1)
        try require(hr_easy_set_string(handle, HR_OPT_USERAGENT, configuration.userAgent))
        try setTLS(configuration)
        try require(hr_easy_set_long(handle, HR_OPT_PROTOCOLS, HR_PROTO_HTTP | HR_PROTO_HTTPS))
        try require(hr_easy_set_long(handle, HR_OPT_HTTP_CONTENT_DECODING, 0))
        try setProxy(configuration)
        try setMethod()
        var lines = CurlHeaderList.lines(of: request.fields)
        lines.append(request.acceptEncoding.map { "Accept-Encoding: \($0)" } ?? "Accept-Encoding: identity")
        if hasContent {
            // Otherwise libcurl would wait a second for permission to send a large body.
            lines.append("Expect:")
            // Otherwise libcurl would send the type of a web form.
            if request.fields["Content-Type"] == nil { lines.append("Content-Type:") }
        }
        guard let headers = CurlHeaderList(lines: lines) else { throw rejected(HR_E_OUT_OF_MEMORY) }
        try require(hr_easy_set_pointer(handle, HR_OPT_HTTPHEADER, headers.list))
        return headers
    }

    /// Whether the request has a body, possibly an empty one, whose length is sent (RFC 9110, section 8.6).
    private var hasContent: Bool { request.body != nil || ["POST", "PUT", "PATCH"].contains(request.method) }

    /// Sets the method and the body, which libcurl copies.
    private func setMethod() throws(DownloadError) {
        guard request.method != "GET" else { return }
        if hasContent {
            let body = request.body ?? []
            try require(hr_easy_set_long(handle, HR_OPT_POST, 1))
            try require(hr_easy_set_long(handle, HR_OPT_POSTFIELDSIZE, body.count))
            let code = body.withUnsafeBytes { bytes in
                // An empty body needs a pointer too: with a null pointer, libcurl would read the body from a callback.
                withUnsafePointer(to: 0 as UInt8) { empty in
                    let start = bytes.baseAddress ?? UnsafeRawPointer(empty)
                    return hr_easy_set_pointer(handle, HR_OPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: start))
                }
            }
            try require(code)
        }
        try require(hr_easy_set_string(handle, HR_OPT_CUSTOMREQUEST, request.method))
    }

    /// Sets the TLS version, the time limit for connecting, and the options that are the same for all requests; none of
    /// them is essential.
    func setCommon() {
        set(HR_OPT_SSLVERSION, HR_SSLVERSION_TLSv1_2)
        set(HR_OPT_PROXY_SSLVERSION, HR_SSLVERSION_TLSv1_2)
        // curl stores the time in an int.
        set(HR_OPT_CONNECTTIMEOUT_MS, Int(min(max(1, request.connectTimeout.wholeMilliseconds), 0x7fff_ffff)))
        set(HR_OPT_NOSIGNAL, 1)
        set(HR_OPT_TCP_KEEPALIVE, 1)
        set(HR_OPT_SUPPRESS_CONNECT_HEADERS, 1)
        set(HR_OPT_HTTP09_ALLOWED, 0)
        // Without this option, which libcurl has since 7.87, removing a handle waits for its name lookup.
        set(HR_OPT_QUICK_EXIT, 1)
    }

    private func setTLS(_ configuration: DownloadConfiguration) throws(DownloadError) {
        // libcurl verifies a resolver over HTTPS with the same authorities.
        guard request.url.isHTTPS || configuration.connectionPolicy.dnsOverHTTPS != nil else { return }
        hr_easy_configure_tls(handle)
        if let file = configuration.certificateAuthorities?.filePath {
            try trustOnly(file, HR_OPT_CAINFO, HR_OPT_CAPATH)
        }
        if !configuration.pinnedPublicKeys.isEmpty {
            let keys = configuration.pinnedPublicKeys.joined(separator: ";")
            try require(hr_easy_set_string(handle, HR_OPT_PINNEDPUBLICKEY, keys))
        }
        if let certificate = configuration.clientCertificate {
            try require(hr_easy_set_string(handle, HR_OPT_SSLCERT, certificate.file.filePath))
            try require(hr_easy_set_string(handle, HR_OPT_SSLKEY, certificate.key.filePath))
            // Without this, OpenSSL would prompt on the terminal and block the network thread.
            try require(hr_easy_set_string(handle, HR_OPT_KEYPASSWD, ""))
        }
    }

    /// Makes libcurl trust only the authorities in a file, and not those in the system's directory.
    private func trustOnly(
        _ file: String,
        _ fileOption: hr_easy_option,
        _ folderOption: hr_easy_option
    ) throws(DownloadError) {
        try require(hr_easy_set_string(handle, fileOption, file))
        let code = hr_easy_set_string(handle, folderOption, "/dev/null")
        // A libcurl whose TLS library does not support directories uses none.
        if code != HR_E_NOT_BUILT_IN, code != HR_E_UNKNOWN_OPTION { try require(code) }
    }

    /// Sets the proxy or, if the request has none, prevents libcurl from using a proxy from the environment.
    private func setProxy(_ configuration: DownloadConfiguration) throws(DownloadError) {
        try require(hr_easy_set_string(handle, HR_OPT_PROXY, request.proxy?.address ?? ""))
        try require(hr_easy_set_string(handle, HR_OPT_NOPROXY, ""))
        guard let proxy = request.proxy else { return }
        if let user = proxy.user {
            try require(hr_easy_set_string(handle, HR_OPT_PROXYUSERNAME, user))
            try require(hr_easy_set_string(handle, HR_OPT_PROXYPASSWORD, proxy.password ?? ""))
        }
        if proxy.speaksTLS, let file = configuration.certificateAuthorities?.filePath {
            try trustOnly(file, HR_OPT_PROXY_CAINFO, HR_OPT_PROXY_CAPATH)
        }
    }

    /// Returns the error for an option or field that libcurl rejected; the request must not be sent without it.
    func rejected(_ code: hr_code) -> DownloadError {
        DownloadError(
            .transportUnavailable,
            "libcurl rejected the request, which was not sent: \(String(cString: hr_easy_strerror(code)))."
        )
    }
}
#endif
