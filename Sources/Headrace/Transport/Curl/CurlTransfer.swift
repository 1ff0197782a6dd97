#if os(Linux)
import CHeadrace
import HeadracePlatform

/// A transfer on the network thread: a libcurl easy handle, its callbacks, and the stream that receives their bytes.
final class CurlTransfer {
    /// The minimum size of libcurl's receive buffer in bytes; also libcurl's default.
    private static let minBufferBytes = 16 << 10

    let id: CurlDriver.TransferID
    let handle: hr_easy
    let stream: ResponseStream
    /// The time at which the transfer counts as stalled if no more data arrives; while it connects or is paused, the
    /// time of its next check.
    private(set) var deadline: SuspendingClock.Instant

    /// The lane to which the transfer was added; `nil` before.
    var lane: CurlLane?
    lazy var server = ConnectionReuse.Server(request)
    let request: TransportRequest
    private let time: CurlTime
    let start: SuspendingClock.Instant
    private let onDelivery: (CurlTransfer) -> Void
    private var head: ResponseHeadParser
    private var finalHead: ResponseHead?
    /// Whether ``finalHead`` was received; a comparison with `nil` would copy the head.
    private var hasHead: Bool { head.isComplete }
    /// Whether the body is complete and trailers are being received.
    private var isReceivingTrailers = false
    /// The protocol violation that Headrace, not libcurl, detected in the response; `nil` if there is none.
    private var violation: String?
    /// Whether libcurl has repeated the request on its own: it does so after the error HTTP_1_1_REQUIRED, even in the
    /// middle of a body.
    private var isRepeated = false
    /// The TLS connection whose close_notify alone marks the end of the body; `nil` if the end is marked otherwise.
    private(set) var endingConnection: UnsafeRawPointer?
    /// Whether the server has sent close_notify on ``endingConnection``.
    var hasCloseNotify = false
    private var lastActivity: SuspendingClock.Instant?
    /// The number of bytes of the request's body that were sent when the deadline was last extended.
    private var sentBytes: Int64 = 0
    private var stallWatch: StallWatch
    private var isPaused: Bool { pauseStart != nil }
    /// The start of the current pause; `nil` if the transfer is not paused.
    private var pauseStart: SuspendingClock.Instant?
    /// The duration of the longest pause that has ended.
    private var longestPause = Duration.zero
    private var isDelivered = false
    var hasReportedMetrics = false
    private var route: CurlRoute?
    private var headers: CurlHeaderList?
    private var addressRule: AddressRule?
    /// The last address that the rule refused; `nil` if it refused none.
    private var refusedAddress: String?
    private var hasTriedAddress = false
    /// The `errno` of the last attempt to create a socket, which libcurl does not report; 0 if it succeeded.
    private var socketError: Int32 = 0
    private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: HR_ERROR_SIZE)

    init(
        _ id: CurlDriver.TransferID,
        _ handle: hr_easy,
        _ request: TransportRequest,
        _ stream: ResponseStream,
        _ time: CurlTime,
        onDelivery: @escaping (CurlTransfer) -> Void
    ) {
        self.id = id
        self.handle = handle
        self.request = request
        stallWatch = StallWatch(timeout: request.stallTimeout)
        self.stream = stream
        self.onDelivery = onDelivery
        self.time = time
        start = time.now
        head = ResponseHeadParser(url: request.url)
        deadline = time.now + request.stallTimeout
        errorText.pointee = 0
    }

    deinit {
        errorText.deallocate()
    }

    /// Sets all options of the handle; throws if libcurl rejects an option that the request depends on.
    ///
    /// `isShared` is `true` if the transfer will be added to a shared lane.
    func configure(
        _ configuration: DownloadConfiguration,
        _ reuse: ConnectionReuse.Rule,
        isShared: Bool
    ) throws(DownloadError) {
        let options = CurlOptions(handle: handle, request: request)
        try setCallbacks(options)
        addressRule = AddressRule(configuration, request)
        let route = try CurlRoute(configuration.connectionPolicy, options)
        self.route = route
        headers = try options.setRequest(configuration)
        // libcurl may lack the remaining options. Only a request that requires a public address then fails. Without
        // HR_OPT_HTTP_VERSION, libcurl chooses the version, and `receive(header:)` rejects a wrong one.
        options.set(HR_OPT_HTTP_VERSION, route.version)
        let bufferBytes = max(Self.minBufferBytes, request.bufferBytes ?? .max)
        options.set(HR_OPT_BUFFERSIZE, min(stream.chunkCapacity, bufferBytes))
        options.setCommon()
        try options.set(reuse, usesDNSOverHTTPS: configuration.connectionPolicy.dnsOverHTTPS != nil)
        // The transfers of a shared lane wait until its only connection has negotiated HTTP/2.
        if isShared { options.set(HR_OPT_PIPEWAIT, 1) }
    }

    /// Makes libcurl call this transfer, and write its error messages to `errorText`.
    private func setCallbacks(_ options: CurlOptions) throws(DownloadError) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        try options.require(hr_easy_set_pointer(handle, HR_OPT_PRIVATE, context))
        try options.require(hr_easy_set_pointer(handle, HR_OPT_ERRORBUFFER, errorText))
        try options.require(hr_easy_set_pointer(handle, HR_OPT_HEADERDATA, context))
        try options.require(hr_easy_set_data_callback(handle, HR_OPT_HEADERFUNCTION, receiveHeader))
        try options.require(hr_easy_set_pointer(handle, HR_OPT_WRITEDATA, context))
        try options.require(hr_easy_set_data_callback(handle, HR_OPT_WRITEFUNCTION, receiveBody))
        try options.require(hr_easy_set_pointer(handle, HR_OPT_OPENSOCKETDATA, context))
        try options.require(hr_easy_set_open_socket_callback(handle, openSocket))
    }

    /// Resumes the transfer after a pause; may call ``receive(body:)`` before it returns.
    func resume() -> hr_code {
        guard let pauseStart else { return HR_E_OK }
        self.pauseStart = nil
        longestPause = max(longestPause, time.now - pauseStart)
        lastActivity = time.now
        return hr_easy_pause(handle, Int32(HR_PAUSE_CONT))
    }

    /// Wakes the reader if it waits for the head or if enough bytes have arrived; returns whether bytes are held back.
    func flush() -> Bool {
        isDelivered = false
        return stream.flush(.head)
    }

    /// The `errno` that libcurl reports for its last failed system call; 0 if there was none.
    var osError: Int {
        var osError = 0
        _ = hr_easy_get_long(handle, HR_INFO_OS_ERRNO, &osError)
        return osError
    }

    /// Whether the transfer made no new connection: it reused one, or its request was not sent.
    private var madeNoConnection: Bool { CurlMetrics(handle: handle).newConnections == 0 }

    /// Returns whether the transfer failed because its reused connection was lost; `false` if Headrace aborted the
    /// transfer, or if the server reset the stream or cut off a body.
    func hasLostReusedConnection(_ code: hr_code) -> Bool {
        let others = [HR_E_WRITE_ERROR, HR_E_PARTIAL_FILE, HR_E_HTTP2_STREAM]
        guard code == HR_E_OK ? !hasHead : !others.contains(code) else { return false }
        return madeNoConnection && silentSince != nil
    }

    /// Returns the request to send again, if it failed only because of its connection or its HTTP version; `nil`
    /// otherwise.
    ///
    /// For example, a server rejects a request without processing it if it is about to close the shared connection
    /// (GOAWAY), or if the connection has too many streams (REFUSED_STREAM).
    func requestToRepeat(after code: hr_code) -> TransportRequest? {
        guard !hasHead else { return nil }
        var request = request
        if refusesHTTP1(code) {
            request.prefersHTTP1 = false
            return request
        }
        let failures = [HR_E_HTTP2, HR_E_HTTP2_STREAM, HR_E_GOT_NOTHING, HR_E_SEND_ERROR, HR_E_RECV_ERROR]
        guard request.mayShareConnection, violation == nil, !isRepeated, failures.contains(code) else { return nil }
        request.mayShareConnection = false
        return request
    }

    /// Returns whether the server refused HTTP/1.1, so that the request must be repeated with HTTP/2.
    ///
    /// A server that supports only HTTP/2 rejects the TLS handshake, or sends bytes that are not HTTP/1.1.
    func refusesHTTP1(_ code: hr_code) -> Bool {
        guard route?.prefersHTTP1 == true, request.url.isHTTPS else { return false }
        let sign: String
        switch code {
        case HR_E_SSL_CONNECT_ERROR: sign = "application protocol"
        // Here the request has been sent, and the server may have processed it.
        case HR_E_UNSUPPORTED_PROTOCOL where request.mayRepeat: sign = "http/0.9"
        default: return false
        }
        return String(cString: errorText).lowercased().contains(sign)
    }

    /// Finishes the stream according to libcurl's result.
    func end(_ code: hr_code) {
        reportMetrics()
        // The reader ignores this response, and sends the request again.
        if lane?.isShared == true, finalHead?.needsOwnConnection == true { return stream.finish() }
        if code == HR_E_OK, hasHead {
            guard endingConnection != nil, !hasCloseNotify else { return stream.finish() }
            let what = "The TLS connection was closed without close_notify, so the file may be incomplete."
            return stream.fail(DownloadError(.connectionLost, what))
        }
        if isRepeated {
            let what = "The server reset the stream before all bytes were received."
            return stream.fail(DownloadError(.connectionLost, what))
        }
        let osError = osError
        var connectStatus = 0
        _ = hr_easy_get_long(handle, HR_INFO_HTTP_CONNECTCODE, &connectStatus)
        let failure = CurlFailure(
            code: code,
            name: String(cString: hr_easy_strerror(code)),
            text: String(cString: errorText),
            osError: osError == 0 ? socketError : Int32(osError),
            hasHead: hasHead,
            isResumable: finalHead?.isResumable ?? false,
            madeNoConnection: madeNoConnection,
            connectStatus: connectStatus,
            refusedAddress: hasTriedAddress ? nil : refusedAddress,
            resolver: hasTriedAddress || silentSince != nil ? nil : route?.resolver,
            violation: violation
        )
        var error = failure.error(for: request)
        // After a long pause, the server may have run into its own timeout, so this failure does not count as one. It
        // does if the download cannot be resumed: otherwise, the download could start over forever.
        let pause = max(longestPause, pauseStart.map { time.now - $0 } ?? .zero)
        error.followsPause = error.code == .connectionLost && failure.isResumable && pause >= request.stallTimeout
        stream.fail(error)
    }

    // MARK: Stalls

    /// The duration of the server's silence after which the connection of a cancelled transfer is not reused.
    private static let maxTrustedSilence: Duration = .seconds(1)

    /// The start of the server's current silence; `nil` while connecting, or while the reader has no room.
    private var silentSince: SuspendingClock.Instant? {
        guard !isPaused else { return nil }
        if let lastActivity { return lastActivity }
        var microseconds: Int64 = 0
        _ = hr_easy_get_offset(handle, HR_INFO_PRETRANSFER_TIME_T, &microseconds)
        return microseconds > 0 ? start + .microseconds(microseconds) : nil
    }

    /// Returns the duration of the server's current silence; `nil` while connecting, or while the reader has no room.
    func silence(at now: SuspendingClock.Instant) -> Duration? { silentSince.map { now - $0 } }

    /// Returns whether the connection may be dead, so that no later request should reuse it.
    func isSuspect(at now: SuspendingClock.Instant) -> Bool {
        silence(at: now).map { $0 >= Self.maxTrustedSilence } ?? false
    }

    /// Updates the deadline according to the latest activity.
    func extendDeadline(at now: SuspendingClock.Instant) {
        var sent: Int64 = 0
        if request.body != nil { _ = hr_easy_get_offset(handle, HR_INFO_SIZE_UPLOAD_T, &sent) }
        if sent > sentBytes { (sentBytes, lastActivity) = (sent, now) }
        deadline = stallWatch.deadline(silentSince: silentSince, isPaused: isPaused, at: now)
    }

    /// Records that another transfer from the same server has stalled; see ``StallWatch`` for the consequence.
    func otherStalled(at now: SuspendingClock.Instant) {
        stallWatch.otherStalled(at: now)
        extendDeadline(at: now)
    }

    /// Makes libcurl close the connection when the transfer is removed.
    func forbidReuse() {
        _ = hr_easy_set_long(handle, HR_OPT_FORBID_REUSE, 1)
    }

    func failStalled() {
        let silence = silence(at: time.now) ?? request.stallTimeout
        let isEarly = silence < request.stallTimeout
        let span = (isEarly ? silence : request.stallTimeout).inSeconds
        let what =
            if !hasHead {
                "The server did not respond for \(span)"
            } else if isReceivingTrailers {
                "The server did not finish its response for \(span) after the last byte"
            } else {
                "No data was received from the server for \(span)"
            }
        var error = DownloadError(.stalled, what + (isEarly ? ", and another connection to it has stalled." : "."))
        error.followsStall = isEarly
        stream.fail(error)
    }

    // MARK: Sockets

    /// Creates the socket for an address.
    ///
    /// If the address is not allowed, returns `HR_SOCKET_BAD`, and libcurl tries the host's next address.
    ///
    /// Replaces libcurl's own function, whose sockets child processes would inherit.
    fileprivate func socket(for address: OpaquePointer) -> Int32 {
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = Int(hr_address_bytes(address, &bytes))
        let target = IPAddress(bytes: bytes.prefix(count))
        if addressRule?.allows(target) == false {
            refusedAddress = target?.description ?? "(not an IP address)"
            return Int32(HR_SOCKET_BAD)
        }
        hasTriedAddress = true
        let socket = hr_address_open(address)
        socketError = socket < 0 ? errno : 0
        return socket
    }

    // MARK: Delivery

    fileprivate func receive(header line: UnsafeRawBufferPointer) -> Int {
        if head.isAtStatusLine {
            // A status line and a complete head extend the stall timeout. Other lines, and trailers, do not.
            if head.extendsStallTimeout { lastActivity = time.now }
            head.negotiatedVersion = negotiatedVersion
        }
        isReceivingTrailers = hasHead
        switch head.consume(line) {
        case .more: break
        case .head(var head):
            let roundTrip = hr_easy_round_trip(handle)
            if roundTrip > 0 { head.roundTrip = .microseconds(roundTrip) }
            if lane?.isShared == true {
                head.needsOwnConnection = head.isTooLargeToShare(maxBytes: CurlLane.maxSharedBytes)
                // A shared lane must not reuse a connection over HTTP/1.1, on which requests would wait for each other.
                if !head.isMultiplexed { forbidReuse() }
            }
            head.sharesConnection = head.isMultiplexed && lane?.isShared == true
            finalHead = head
            if head.endsWithTLSConnection { endingConnection = hr_easy_tls(handle) }
            stream.deliver(head)
            markDelivered()
            // Ends the transfer.
            if head.needsOwnConnection { return 0 }
        case .invalid(let reason):
            violation = reason
            return 0
        case .repeated:
            isRepeated = true
            return 0
        }
        return line.count
    }

    /// The major HTTP version that ALPN negotiated, or 1 without TLS; `nil` if the version is unknown.
    ///
    /// It may be 2 even if the request did not offer HTTP/2: some releases of libcurl (before 7.77, and 8.11 and 8.12)
    /// reuse an idle HTTP/2 connection for such a request.
    private var negotiatedVersion: Int? {
        // ALPN of a QUIC connection is not known here.
        guard route?.offersHTTP3 != true else { return nil }
        guard request.url.isHTTPS else { return 1 }
        let version = Int(hr_easy_negotiated_version(handle))
        return version > 0 ? version : nil
    }

    fileprivate func receive(body bytes: UnsafeRawBufferPointer) -> Int {
        let demand = stream.deliver(bytes)
        markDelivered()
        switch demand {
        case .more: return bytes.count
        case .stop: return 0
        // A transfer on a shared connection is never paused. A file on such a connection is small enough to buffer. Any
        // other body of this length is aborted, because no reader needs more of it.
        case .pause where lane?.isShared == true: return finalHead?.carriesFile == true ? bytes.count : 0
        case .pause:
            // libcurl counts these bytes as accepted, and delivers no more until the reader has room.
            pauseStart = pauseStart ?? time.now
            _ = hr_easy_pause(handle, Int32(HR_PAUSE_RECV))
            return bytes.count
        }
    }

    /// Records that the server has sent a head or body bytes; only the first call after each ``flush()`` has an effect,
    /// since little time passes between two flushes.
    private func markDelivered() {
        guard !isDelivered else { return }
        isDelivered = true
        lastActivity = time.now
        onDelivery(self)
    }
}

private func transfer(_ context: UnsafeMutableRawPointer) -> CurlTransfer {
    // The driver retains the transfer until its handle is removed. After that, libcurl makes no callbacks.
    Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
}

private let openSocket: hr_open_socket_callback = { context, _, address in
    guard let context, let address else { return Int32(HR_SOCKET_BAD) }
    return transfer(context).socket(for: address)
}

private let receiveHeader: hr_data_callback = { bytes, size, count, context in
    guard let bytes, let context else { return 0 }
    return transfer(context).receive(header: UnsafeRawBufferPointer(start: bytes, count: size * count))
}

private let receiveBody: hr_data_callback = { bytes, size, count, context in
    guard let bytes, let context else { return 0 }
    return transfer(context).receive(body: UnsafeRawBufferPointer(start: bytes, count: size * count))
}
#endif
