#if os(Linux)
import CHeadrace
import HeadracePlatform

extension CurlTransfer {
    /// Passes the metrics to the request's receiver, if it has one; a second call does nothing.
    ///
    /// ``end(_:)`` calls this first, so that the metrics are there when the reader sees the end of the body.
    func reportMetrics() {
        guard let receive = request.metrics, !hasReportedMetrics else { return }
        hasReportedMetrics = true
        receive(CurlMetrics(handle: handle).metrics(of: request))
    }
}

/// Reads the metrics of a transfer from its easy handle.
struct CurlMetrics {
    let handle: hr_easy

    /// The number of connections that the transfer has made.
    var newConnections: Int { long(HR_INFO_NUM_CONNECTS) ?? 0 }

    /// Returns the metrics of a request that has ended.
    func metrics(of request: TransportRequest) -> RequestMetrics {
        var metrics = RequestMetrics(url: request.url.withoutQuery)
        // If connecting failed, the number of new connections is 0 too, but the request was not sent.
        metrics.isReused = newConnections == 0 && time(HR_INFO_PRETRANSFER_TIME_T) != nil
        metrics.status = long(HR_INFO_RESPONSE_CODE).flatMap { $0 == 0 ? nil : $0 }
        if !metrics.isReused {
            metrics.nameLookup = time(HR_INFO_NAMELOOKUP_TIME_T)
            metrics.connect = time(HR_INFO_CONNECT_TIME_T)
            metrics.tls = time(HR_INFO_APPCONNECT_TIME_T)
        }
        metrics.firstByte = time(HR_INFO_STARTTRANSFER_TIME_T)
        metrics.total = time(HR_INFO_TOTAL_TIME_T) ?? .zero
        metrics.bytesReceived = offset(HR_INFO_SIZE_DOWNLOAD_T)
        metrics.httpVersion = version
        var address: UnsafeMutableRawPointer?
        if hr_easy_get_pointer(handle, HR_INFO_PRIMARY_IP, &address) == HR_E_OK, let address {
            let text = String(cString: address.assumingMemoryBound(to: CChar.self))
            metrics.address = text.isEmpty ? nil : text
        }
        return metrics
    }

    /// The version of HTTP, such as `HTTP/2`; `nil` if it is unknown.
    private var version: String? {
        switch long(HR_INFO_HTTP_VERSION) {
        case 1: "HTTP/1.0"
        case 2: "HTTP/1.1"
        case 3: "HTTP/2"
        case 30: "HTTP/3"
        default: nil
        }
    }

    private func long(_ info: hr_easy_info) -> Int? {
        var value = 0
        return hr_easy_get_long(handle, info, &value) == HR_E_OK ? value : nil
    }

    private func offset(_ info: hr_easy_info) -> Int64 {
        var value: Int64 = 0
        _ = hr_easy_get_offset(handle, info, &value)
        return value
    }

    /// Returns the time from the start of the transfer to a step; `nil` if the step was not reached.
    private func time(_ info: hr_easy_info) -> Duration? {
        let microseconds = offset(info)
        return microseconds > 0 ? .microseconds(microseconds) : nil
    }
}
#endif
