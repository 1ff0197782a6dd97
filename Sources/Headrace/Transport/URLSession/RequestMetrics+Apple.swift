#if canImport(Darwin)
import Foundation

extension RequestMetrics {
    /// Reads the metrics of a request from those of the system.
    init(_ metrics: URLSessionTaskTransactionMetrics, of request: TransportRequest) {
        self.init(url: request.url.withoutQuery)
        let start = metrics.fetchStartDate
        func time(_ date: Date?) -> Duration? {
            guard let date, let start else { return nil }
            return .seconds(date.timeIntervalSince(start))
        }
        status = (metrics.response as? HTTPURLResponse)?.statusCode
        isReused = metrics.isReusedConnection
        if !isReused {
            nameLookup = time(metrics.domainLookupEndDate)
            connect = time(metrics.secureConnectionStartDate ?? metrics.connectEndDate)
            tls = time(metrics.secureConnectionEndDate)
        }
        firstByte = time(metrics.responseStartDate)
        total = time(metrics.responseEndDate) ?? .zero
        bytesReceived = metrics.countOfResponseBodyBytesReceived
        address = metrics.remoteAddress
        httpVersion =
            switch metrics.networkProtocolName {
            case "http/1.1": "HTTP/1.1"
            case "h2": "HTTP/2"
            case "h3": "HTTP/3"
            default: metrics.networkProtocolName
            }
    }
}
#endif
