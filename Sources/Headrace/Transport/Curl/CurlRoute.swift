#if os(Linux)
import CHeadrace
import HeadracePlatform

/// Sets the libcurl options for a ``ConnectionPolicy``, and owns the lists that libcurl does not copy.
///
/// It must live as long as the transfer.
struct CurlRoute {
    /// Whether HTTP/2 is offered to the server.
    let offersHTTP2: Bool
    /// Whether HTTP/3 is offered as well.
    let offersHTTP3: Bool
    /// Whether HTTP/1.1 was chosen only because it is likely to be faster.
    let prefersHTTP1: Bool
    /// The host of the resolver over HTTPS; `nil` if the system's resolver is used.
    let resolver: String?
    private let addresses: CurlHeaderList?
    private let substitutes: CurlHeaderList?

    /// The newest version of HTTP to offer, as a constant of libcurl.
    var version: Int { offersHTTP3 ? HR_HTTP_VERSION_3 : offersHTTP2 ? HR_HTTP_VERSION_2TLS : HR_HTTP_VERSION_1_1 }

    /// Sets the options of a policy, except for the version; throws if libcurl rejects one of them.
    init(_ policy: ConnectionPolicy, _ options: CurlOptions) throws(DownloadError) {
        let (handle, request) = (options.handle, options.request)
        offersHTTP2 = policy.httpVersion.offersHTTP2(for: request)
        offersHTTP3 = policy.httpVersion == .http3 && offersHTTP2 && request.url.isHTTPS
        prefersHTTP1 = policy.httpVersion == .automatic && request.prefersHTTP1 && !request.avoidsHTTP2
        resolver = policy.dnsOverHTTPS?.host()
        addresses = try options.list(policy.addresses)
        substitutes = try options.list(policy.substitutes)
        switch policy.addressFamily {
        case .any: break
        case .ipv4: try options.require(hr_easy_set_long(handle, HR_OPT_IPRESOLVE, Int(HR_IPRESOLVE_V4)))
        case .ipv6: try options.require(hr_easy_set_long(handle, HR_OPT_IPRESOLVE, Int(HR_IPRESOLVE_V6)))
        }
        if let list = addresses?.list { try options.require(hr_easy_set_pointer(handle, HR_OPT_RESOLVE, list)) }
        if let list = substitutes?.list { try options.require(hr_easy_set_pointer(handle, HR_OPT_CONNECT_TO, list)) }
        if let url = policy.dnsOverHTTPS?.absoluteString {
            try options.require(hr_easy_set_string(handle, HR_OPT_DOH_URL, url))
        }
        if let name = policy.interface { try options.require(hr_easy_set_string(handle, HR_OPT_INTERFACE, name)) }
        if let path = policy.unixSocket?.filePath {
            try options.require(hr_easy_set_string(handle, HR_OPT_UNIX_SOCKET_PATH, path))
        }
    }
}

extension CurlOptions {
    /// Returns a list of the texts, or `nil` if there are none; throws if memory runs out.
    fileprivate func list(_ texts: [String]) throws(DownloadError) -> CurlHeaderList? {
        guard !texts.isEmpty else { return nil }
        guard let list = CurlHeaderList(lines: texts) else { throw rejected(HR_E_OUT_OF_MEMORY) }
        return list
    }
}

extension ConnectionPolicy.HTTPVersion {
    /// The feature that libcurl must have for this version; 0 if every libcurl supports it.
    var feature: Int {
        switch self {
        case .automatic, .http1: 0
        case .http2: Int(HR_FEATURE_HTTP2)
        case .http3: Int(HR_FEATURE_HTTP3)
        }
    }

    /// Returns whether HTTP/2 is offered to the server of a request.
    func offersHTTP2(for request: TransportRequest) -> Bool {
        guard !request.avoidsHTTP2 else { return false }
        return switch self {
        case .automatic: !request.prefersHTTP1
        case .http1: false
        case .http2, .http3: true
        }
    }
}
#endif
