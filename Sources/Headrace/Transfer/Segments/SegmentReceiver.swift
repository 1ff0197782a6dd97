import HeadracePlatform

/// Runs one connection of a ``SegmentedFetch``: requests its range, reads the body, and writes the bytes that the
/// planner hands out.
struct SegmentReceiver {
    typealias Connection = SegmentedFetch.Connection

    /// How a connection ended.
    enum End {
        /// All needed bytes were received; `staysOpen` is whether the server accepts another request on the connection.
        case complete(staysOpen: Bool)
        /// The planner or the caller stopped the connection.
        case stopped
        case refused(DownloadError)
        case broken(DownloadError)
        /// The response does not contain the requested range; with the code `resourceChanged`, the source has another
        /// version of the file.
        case unusable(DownloadError)
        /// The attempt fails with this error, because it would affect the other connections too.
        case failed(any Error)
    }

    private let fetch: SegmentedFetch
    private let connection: Connection
    /// The position in the file of the next byte that the connection receives.
    private var position: Int64 = 0
    /// Whether the server closes the connection after the response (RFC 9112, section 9.6).
    private var isClosing = false
    /// Computes the digests of the pieces that the connection completes.
    private var digester: PieceDigester?

    init(_ connection: Connection, of fetch: SegmentedFetch) {
        self.fetch = fetch
        self.connection = connection
    }

    /// Requests the range and reads the response.
    mutating func run() async -> End {
        let source = fetch.sources[connection.source]
        let (start, end) = (connection.range.lowerBound, connection.range.upperBound)
        // At least 1, so that the response is compared with the known version even at the start of the file.
        guard let range = ByteRange(from: start, to: end),
            let request = try? RangeRequest(
                continuing: source.known,
                with: range,
                heldBytes: max(1, start),
                deferredVerification: source.deferredVerification
            )
        else { return .unusable(DownloadError(.protocolViolation, "The part has no bytes to request.")) }
        var sender = RequestSender(request, along: source.chain, for: fetch.record, fetch.environment)
        sender.prefersHTTP1 = true
        sender.hasConnection = true
        if fetch.state.withLock({ $0.sourcesWithoutIfRange.contains(connection.source) }) {
            sender.request = request.withoutIfRange
        }
        do {
            while true {
                let end = try await sender.send { await receive($0, &$1) }
                if let end { return end }
                fetch.state.withLock { _ = $0.sourcesWithoutIfRange.insert(connection.source) }
                sender.request = request.withoutIfRange
            }
        } catch {
            let end = lost(error)
            // A server that limits connections may also accept a new one and close it at once.
            if case .broken(let error) = end, error.code == .connectionLost { return .refused(error) }
            return end
        }
    }

    /// Acts on the response to a range request; returns `nil` if the range must be requested without `If-Range`.
    private mutating func receive(_ response: RequestSender.Response, _ body: inout ResponseBody) async -> End? {
        switch SegmentVerdict(response.head, for: response.request) {
        case .accept(let accepted):
            let now = fetch.clock.now()
            fetch.hosts.served(fetch.record.id, response.head.url, after: response.latency, at: now)
            if let roundTrip = response.head.roundTrip {
                fetch.state.withLock { $0.planner.measured(roundTrip: roundTrip) }
            }
            isClosing = response.head.members("connection").contains("close")
            // The connection has no minimum speed of its own: the fetch checks the speed of all connections together.
            return await read(BodyPump(body, accepted, nil, for: fetch.record, in: fetch.environment, fetch.monitor))
        case .retryWithoutIfRange: return nil
        case .unusable(let reason):
            let status = response.head.status
            return status < 400
                ? .unusable(DownloadError(.unexpectedContent, reason))
                : .unusable(DownloadError(.httpStatus, reason, statusCode: status))
        case .otherVersion(let reason): return .unusable(DownloadError(.resourceChanged, reason))
        case .refused(let error): return .refused(error)
        case .failed(let error): return .broken(error)
        }
    }

    /// Reads a body and writes the needed bytes, until the connection has delivered its segment or ends.
    mutating func read(_ pump: BodyPump) async -> End {
        var pump = pump
        position = pump.placement.offset
        digester = fetch.ledger.read { $0.pieces }.map(PieceDigester.init)
        fetch.state.withLock { $0.accepted(pump.placement.proof) }
        var end: End?
        do {
            try await pump.run { bytes, piece, _ in
                do {
                    if try take(bytes, piece.written) { end = .complete(staysOpen: !isClosing) }
                } catch {
                    end = .failed(error)
                }
                return end == nil
            }
        } catch {
            return lost(error)
        }
        if let end { return end }
        return position < pump.placement.range.upperBound
            ? .broken(DownloadError(.connectionLost, "The connection ended before the announced length was received."))
            : .complete(staysOpen: !isClosing)
    }

    /// Returns how the connection ended, given an error of the transport.
    private func lost(_ error: any Error) -> End {
        guard connection.stop.reason == nil, !Task.isCancelled else { return .stopped }
        guard let error = error as? DownloadError else { return .failed(error) }
        switch error.code {
        case .shutDown: return .failed(error)
        case .connection: return .refused(error)
        case .redirect, .protocolViolation: return .unusable(error)
        default: return .broken(error)
        }
    }

    // MARK: Writing

    /// Writes the needed bytes of a chunk; returns `true` if no further bytes of the connection are needed.
    ///
    /// `piece` is the part of the chunk with bytes of the file; its first byte belongs at the present position.
    private mutating func take(_ bytes: UnsafeRawBufferPointer, _ piece: Range<Int>) throws -> Bool {
        let (now, first) = (fetch.clock.now(), position)
        position += Int64(piece.count)
        let acceptance = fetch.state.withLock { state in
            state.transfer.state.fetched(bytes.count)
            state.writers += 1
            return state.planner.accept(piece.count, for: connection.id, at: now)
        }
        defer { fetch.state.withLock { $0.writers -= 1 } }
        guard let range = acceptance.range else { return acceptance.isDone }
        let start = piece.lowerBound + Int(range.lowerBound - first)
        let new = UnsafeRawBufferPointer(rebasing: bytes[start..<start + Int(range.upperBound - range.lowerBound)])
        try fetch.monitor.write { () throws(DownloadError) in try fetch.target.file.write(new, at: range.lowerBound) }
        let whole = digester?.update(new, at: range.lowerBound) ?? []
        try wrote(range, completing: whole)
        return acceptance.isDone
    }

    /// Records bytes that were written to the file, and starts a checkpoint if one is due.
    private func wrote(_ range: Range<Int64>, completing pieces: [ReceivedPieces.Digest]) throws {
        let now = fetch.clock.now()
        fetch.state.withLock { state in
            let count = Int(range.upperBound - range.lowerBound)
            let progress = state.transfer.state.meter.received(count, at: now)
            if let progress { fetch.record.status.publish(progress) }
            // With another connection, the file consists of several responses or sources.
            guard connection.id != .first else { return }
            state.transfer.partial.compose(of: connection.source == 0 ? .severalResponses : .severalSources)
        }
        if try fetch.ledger.wrote(range, completing: pieces, at: now) { fetch.checkpoint() }
    }
}

extension BodyPlacement {
    /// The range of the file that the body covers; empty if its length is unknown.
    var range: Range<Int64> { offset..<offset + (length ?? 0) }
}
