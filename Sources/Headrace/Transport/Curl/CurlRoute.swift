#if os(Linux)
import CHeadrace
import HeadracePlatform

/// A ``ConnectionPolicy`` as options of libcurl; it must live as long as the transfer.
final class CurlRoute {
    private let policy: ConnectionPolicy
    private let addresses: CurlHeaderList?
    private let substitutes: CurlHeaderList?

    /// Creates the options of a policy; returns `nil` if memory runs out.
    init?(_ policy: ConnectionPolicy) {
        self.policy = policy
        guard let addresses = CurlHeaderList(lines: policy.addresses),
            let substitutes = CurlHeaderList(lines: policy.substitutes)
        else { return nil }
        self.addresses = addresses
        self.substitutes = substitutes
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
