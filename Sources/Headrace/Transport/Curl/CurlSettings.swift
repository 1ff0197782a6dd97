#if os(Linux)
import CHeadrace
import HeadracePlatform

/// The options of an easy handle that depend on neither the URL's path nor the transfer.
///
/// They are the same in the requests for many files of one server. So a handle keeps them after a success, and sets only
/// the others for its next transfer.
final class CurlSettings {
    private let request: TransportRequest
    private let chunkCapacity: Int
    fileprivate let route: CurlRoute
    fileprivate let headers: CurlHeaderList

    /// Returns `nil` if the request has options that no other request may have.
    fileprivate init?(_ transfer: CurlTransfer, _ route: CurlRoute, _ headers: CurlHeaderList) {
        (request, chunkCapacity) = (transfer.request, transfer.stream.chunkCapacity)
        (self.route, self.headers) = (route, headers)
        guard !route.hasLists, suits(transfer) else { return nil }
    }

    /// Returns whether the request of another transfer has the same options.
    fileprivate func suits(_ other: CurlTransfer) -> Bool {
        let new = other.request
        return new.method == "GET" && new.body == nil && new.mayRepeat && !new.requiresPublicAddress && !new.avoidsHTTP2
            && new.prefersHTTP1 == request.prefersHTTP1 && new.bufferBytes == request.bufferBytes
            && new.connectTimeout == request.connectTimeout && other.stream.chunkCapacity == chunkCapacity
            && new.acceptEncoding == request.acceptEncoding && new.fields == request.fields
            && new.proxy == request.proxy
            && new.url.isHTTPS == request.url.isHTTPS && !new.url.absoluteString.has("@")
    }
}

extension CurlTransfer {
    /// Sets all options of the handle; throws if libcurl rejects an option that the request depends on.
    ///
    /// `isShared` is `true` if the transfer will be added to a shared lane. `kept` are the options that the handle has kept;
    /// they are not set again if this request has the same ones.
    func configure(
        _ configuration: DownloadConfiguration,
        _ reuse: ConnectionReuse.Rule,
        isShared: Bool,
        keeping kept: CurlSettings?
    ) throws(DownloadError) {
        let options = CurlOptions(handle: handle, request: request)
        let isOrdinary = !isShared && reuse == .any
        let suits = isOrdinary && kept?.suits(self) == true
        if kept != nil, !suits { reset() }
        try setCallbacks(options)
        try options.setURL()
        addressRule = AddressRule(configuration, request)
        if suits, let kept {
            (settings, route, headers) = (kept, kept.route, kept.headers)
            return
        }
        let route = try CurlRoute(configuration.connectionPolicy, options)
        let headers = try options.setRequest(configuration)
        (self.route, self.headers) = (route, headers)
        // The remaining options are not essential: libcurl may have been built without them. Without
        // HR_OPT_HTTP_VERSION, it chooses the version itself, and `receive(header:)` rejects a wrong one.
        options.set(HR_OPT_HTTP_VERSION, route.version)
        let bufferBytes = max(Self.minBufferBytes, request.bufferBytes ?? .max)
        options.set(HR_OPT_BUFFERSIZE, min(stream.chunkCapacity, bufferBytes))
        options.setCommon()
        try options.set(reuse, usesDNSOverHTTPS: configuration.connectionPolicy.dnsOverHTTPS != nil)
        // The transfers of a shared lane wait until its only connection has negotiated HTTP/2.
        if isShared { options.set(HR_OPT_PIPEWAIT, 1) }
        if isOrdinary { settings = CurlSettings(self, route, headers) }
    }

    /// Prepares the handle for another transfer; returns the options that it keeps, which it does only after a success.
    func release(after code: hr_code?) -> CurlSettings? {
        guard code == HR_E_OK, let settings else {
            reset()
            return nil
        }
        _ = hr_easy_set_pointer(handle, HR_OPT_PRIVATE, nil)
        _ = hr_easy_set_pointer(handle, HR_OPT_ERRORBUFFER, nil)
        return settings
    }

    private func reset() {
        hr_easy_reset(handle)
        // In libcurl 8.17 to 8.19, a name lookup that was abandoned ends when its handle is freed.
        _ = hr_easy_set_long(handle, HR_OPT_QUICK_EXIT, 1)
    }
}
#endif
