#if os(Linux)
import CHeadrace
import HeadracePlatform

/// A ``ConnectionPolicy`` as options of libcurl for a request; it must live as long as the transfer.
final class CurlRoute {
    /// Whether HTTP/2 is offered to the server.
    let offersHTTP2: Bool
    /// Whether HTTP/3 is offered as well.
    let offersHTTP3: Bool
    /// Whether HTTP/1.1 was chosen only because it is likely to be faster.
    let prefersHTTP1: Bool
    /// The newest version of HTTP to offer, as a constant of libcurl.
    let version: Int
    private let policy: ConnectionPolicy
    private let addresses: CurlHeaderList?
    private let substitutes: CurlHeaderList?

    /// Creates the options of a policy; returns `nil` if memory runs out.
    init?(_ policy: ConnectionPolicy, for request: TransportRequest) {
        self.policy = policy
        offersHTTP2 = policy.httpVersion.offersHTTP2(for: request)
        prefersHTTP1 = policy.httpVersion == .automatic && request.prefersHTTP1 && !request.avoidsHTTP2
        offersHTTP3 = policy.httpVersion == .http3 && offersHTTP2 && request.url.isHTTPS
        version = offersHTTP3 ? HR_HTTP_VERSION_3 : offersHTTP2 ? HR_HTTP_VERSION_2TLS : HR_HTTP_VERSION_1_1
        addresses = policy.addresses.isEmpty ? nil : CurlHeaderList(lines: policy.addresses)
        substitutes = policy.substitutes.isEmpty ? nil : CurlHeaderList(lines: policy.substitutes)
        let isComplete =
            (addresses == nil) == policy.addresses.isEmpty && (substitutes == nil) == policy.substitutes.isEmpty
        guard isComplete else { return nil }
    }

    /// Sets the options of a handle; returns libcurl's code for the first one that it rejects.
    func apply(to handle: hr_easy) -> hr_code {
        var codes: [hr_code] = []
        switch policy.addressFamily {
        case .any: break
        case .ipv4: codes.append(hr_easy_set_long(handle, HR_OPT_IPRESOLVE, Int(HR_IPRESOLVE_V4)))
        case .ipv6: codes.append(hr_easy_set_long(handle, HR_OPT_IPRESOLVE, Int(HR_IPRESOLVE_V6)))
        }
        if let list = addresses?.list { codes.append(hr_easy_set_pointer(handle, HR_OPT_RESOLVE, list)) }
        if let list = substitutes?.list { codes.append(hr_easy_set_pointer(handle, HR_OPT_CONNECT_TO, list)) }
        for (option, text) in [
            (HR_OPT_INTERFACE, policy.interface), (HR_OPT_UNIX_SOCKET_PATH, policy.unixSocket?.filePath),
        ] {
            if let text { codes.append(hr_easy_set_string(handle, option, text)) }
        }
        return codes.first { $0 != HR_E_OK } ?? HR_E_OK
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

    /// Whether HTTP/2 is offered to the server of a request.
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
