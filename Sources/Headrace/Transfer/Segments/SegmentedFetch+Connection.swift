import HeadracePlatform

/// Runs a single connection.
extension SegmentedFetch {
    /// How a connection ended.
    private enum End {
        case complete
        /// The planner or the caller stopped the connection.
        case stopped
        case refused(DownloadError)
        case broken(DownloadError)
        case unusable(DownloadError)
        case otherVersion(DownloadError)
        /// The attempt fails with this error, because it would affect the other connections too.
        case failed(any Error)
    }

    /// Reads the body of the download's first request.
    func readFirst(_ pump: BodyPump, of connection: Connection) async {
        let end = await connection.stop.cancellingTask {
            await withTaskCancellationHandler {
                await self.read(pump, connection)
            } onCancel: {
                pump.body.cancel()
            }
        }
        // Without this, the connection would stay open as long as the others run.
        pump.body.cancel()
        finish(connection, end)
    }

    /// Requests a range on a new connection and reads the response.
    func fetch(_ connection: Connection) async {
        finish(connection, await connection.stop.cancellingTask { await self.send(connection) })
    }

    private func send(_ connection: Connection) async -> End {
        let source = sources[connection.source]
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
        var sender = RequestSender(request, along: source.chain, for: record, environment)
        sender.prefersHTTP1 = true
        sender.hasConnection = true
        if state.withLock({ $0.sourcesWithoutIfRange.contains(connection.source) }) {
            sender.request = request.withoutIfRange
        }
        do {
            while true {
                let end = try await sender.send { await receive($0, &$1, connection) }
                if let end { return end }
                state.withLock { _ = $0.sourcesWithoutIfRange.insert(connection.source) }
                sender.request = request.withoutIfRange
            }
        } catch {
            let end = lost(error, connection)
            // A server that limits connections may also accept a new one and close it at once.
            if case .broken(let error) = end, error.code == .connectionLost { return .refused(error) }
            return end
        }
    }

    /// Acts on the response to a range request; returns `nil` if the range must be requested without `If-Range`.
    private func receive(
        _ response: RequestSender.Response,
        _ body: inout ResponseBody,
        _ connection: Connection
    ) async -> End? {
        switch SegmentVerdict(response.head, for: response.request) {
        case .accept(let accepted):
            if let roundTrip = response.head.roundTrip {
                state.withLock { $0.planner.measured(roundTrip: roundTrip) }
            }
            // Not limited: the minimum speed applies to all connections together, and ``tick()`` checks it.
            return await read(BodyPump(body, accepted, nil, for: record, in: environment, monitor), connection)
        case .retryWithoutIfRange: return nil
        case .unusable(let reason):
            let status = response.head.status
            return status < 400
                ? .unusable(DownloadError(.unexpectedContent, reason))
                : .unusable(DownloadError(.httpStatus, reason, statusCode: status))
        case .otherVersion(let reason): return .otherVersion(DownloadError(.resourceChanged, reason))
        case .refused(let error): return .refused(error)
        case .failed(let error): return .broken(error)
        }
    }

    /// Reads a body until the connection has delivered its segment.
    private func read(_ pump: BodyPump, _ connection: Connection) async -> End {
        var pump = pump
        var cursor = Cursor(connection: connection, position: pump.placement.offset)
        cursor.digester = ledger.read { $0.pieces }.map(PieceDigester.init)
        state.withLock { $0.accepted(pump.placement.proof) }
        var end: End?
        do {
            try await pump.run { bytes, piece, _ in
                do {
                    if try take(bytes, piece.written, &cursor) { end = .complete }
                } catch {
                    end = .failed(error)
                }
                return end == nil
            }
        } catch {
            return lost(error, connection)
        }
        if let end { return end }
        return cursor.position < pump.placement.range.upperBound
            ? .broken(DownloadError(.connectionLost, "The connection ended before the announced length was received."))
            : .complete
    }

    /// Returns how a connection ended, given an error of the transport.
    private func lost(_ error: any Error, _ connection: Connection) -> End {
        guard connection.stop.reason == nil, !Task.isCancelled else { return .stopped }
        guard let error = error as? DownloadError else { return .failed(error) }
        switch error.code {
        case .shutDown: return .failed(error)
        case .connection: return .refused(error)
        case .redirect, .protocolViolation: return .unusable(error)
        default: return .broken(error)
        }
    }

    /// Reports the end of a connection to the planner.
    private func finish(_ connection: Connection, _ end: End) {
        let id = connection.id
        switch end {
        case .stopped: break
        case .complete:
            change(because: .delivered) { state, now in
                state.stops[id] = nil
                return state.planner.ended(id, at: now)
            }
        case .broken(let error):
            change(because: .failed(error)) { state, now in
                guard state.lost(id, error) else { return [] }
                return state.planner.failed(id, .broken, at: now)
            }
        case .refused(let error):
            change(because: .failed(error)) { state, now in
                guard state.lost(id, error) else { return [] }
                guard error.statusCode != nil else {
                    // If older connections receive further bytes, the host limits connections; otherwise it is down.
                    state.planner.refused(id, at: now)
                    return state.planner.failed(id, .broken, at: now)
                }
                guard !state.planner.isUnverifiedTwin(connection.source) else {
                    return state.planner.failed(id, .broken, at: now)
                }
                let allowance = refused(connection.source, retryAfter: error.retryAfter, in: state, at: now)
                return state.planner.failed(id, .refused, allowing: allowance, at: now)
            }
        case .unusable(let error):
            change(because: .failed(error)) { state, now in
                state.stops[id] = nil
                return state.planner.failed(id, .unusable, at: now)
            }
        case .otherVersion(let error):
            change(because: .failed(error)) { state, now in
                state.stops[id] = nil
                state.planner.retire(connection.source)
                return state.planner.failed(id, .unusable, at: now)
            }
        case .failed(let error):
            change(because: .delivered) { state, _ in
                state.stops[id] = nil
                state.failure = state.failure ?? error
                return []
            }
        }
    }
}

extension ConnectionEndReason {
    /// The code of the error with which a connection was lost; `stalled` for any other cause.
    var code: DownloadError.Code { if case .failed(let error) = self { error.code } else { .stalled } }
    var statusCode: Int? { if case .failed(let error) = self { error.statusCode } else { nil } }
}

extension SegmentedFetch.State {
    /// Records that the file contains bytes of this connection.
    ///
    /// If it is not the first connection, the file is composed of several responses or sources.
    mutating func compose(_ connection: SegmentedFetch.Connection) {
        guard connection.id != .first else { return }
        transfer.partial.compose(of: connection.source == 0 ? .severalResponses : .severalSources)
    }

    /// Records a lost connection; returns `true` if the planner must handle the loss.
    ///
    /// If the last connection to the only source is lost after it has delivered enough bytes not to count as a failed
    /// connection, fails the attempt and returns `false`.
    fileprivate mutating func lost(_ id: SegmentID, _ error: DownloadError) -> Bool {
        stops[id] = nil
        lastLoss = error
        guard stops.isEmpty, planner.sources.count == 1,
            planner.segments.contains(where: { $0.id == id && !$0.wouldBeFailure })
        else {
            return true
        }
        failure = failure ?? error
        return false
    }
}

extension SegmentedFetch.State {
    /// Throws `stalled` if all connections together were below the minimum speed for too long.
    ///
    /// Time spent on the disk or on rate limits is not counted.
    mutating func checkMinimumSpeed(at now: Duration, isLimited: Bool) throws(DownloadError) {
        let count = Int(clamping: transfer.state.fetchedBytes - lastFetchedBytes)
        let elapsed = now - lastTick
        (lastTick, lastFetchedBytes) = (now, transfer.state.fetchedBytes)
        floor?.received(count, after: isLimited || writers >= max(1, stops.count) ? .zero : elapsed)
        try floor?.check()
    }
}

extension BodyPlacement {
    /// The range of the file that the body covers; empty if its length is unknown.
    var range: Range<Int64> { offset..<offset + (length ?? 0) }
}
