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

    private enum Step {
        case redirected(URL)
        case requestAgain
        case end(End)
    }

    /// Reads the body of the download's first request.
    func readFirst(_ body: ResponseBody, _ accepted: BodyPlacement, of connection: Connection) async {
        let end = await connection.stop.cancellingTask {
            await withTaskCancellationHandler {
                var body = body
                return await self.read(&body, accepted, connection)
            } onCancel: {
                body.cancel()
            }
        }
        // Without this, the connection would stay open as long as the others run.
        body.cancel()
        finish(connection, end)
    }

    /// Requests a range on a new connection and reads the response.
    func fetch(_ connection: Connection) async {
        finish(connection, await connection.stop.cancellingTask { await self.send(connection) })
    }

    private func send(_ connection: Connection) async -> End {
        let source = sources[connection.source]
        var chain = source.chain
        let (start, end) = (connection.range.lowerBound, connection.range.upperBound)
        // At least 1, so that the response is compared with the known version even at the start of the file.
        guard let range = ByteRange(from: start, to: end),
            var rangeRequest = try? RangeRequest(
                continuing: source.known,
                with: range,
                heldBytes: max(1, start),
                deferredVerification: source.deferredVerification
            )
        else { return .unusable(DownloadError(.protocolViolation, "The part has no bytes to request.")) }
        if state.withLock({ $0.sourcesWithoutIfRange.contains(connection.source) }) {
            rangeRequest = rangeRequest.withoutIfRange
        }
        let configuration = transfer.environment.configuration
        while true {
            let step: Step
            do {
                var request = chain.request(with: rangeRequest.fields, configuration)
                request.bufferBytes = transfer.environment.rates.bufferBytes(for: transfer.record)
                step = try await transfer.environment.transport.perform(request) { head, body in
                    if let target = try chain.policy.target(of: head, after: chain.count) { return .redirected(target) }
                    return await receive(head, &body, for: rangeRequest, connection)
                }
            } catch {
                let end = lost(error, connection)
                // A server that limits connections may also accept a new one and close it at once.
                if case .broken(let error) = end, error.code == .connectionLost { return .refused(error) }
                return end
            }
            switch step {
            case .redirected(let target): chain.follow(target)
            case .requestAgain:
                state.withLock { _ = $0.sourcesWithoutIfRange.insert(connection.source) }
                rangeRequest = rangeRequest.withoutIfRange
            case .end(let end): return end
            }
        }
    }

    /// Acts on the response to a range request.
    private func receive(
        _ head: ResponseHead,
        _ body: inout ResponseBody,
        for rangeRequest: RangeRequest,
        _ connection: Connection
    ) async -> Step {
        switch SegmentVerdict(head, for: rangeRequest) {
        case .accept(let accepted): .end(await read(&body, accepted, connection))
        case .retryWithoutIfRange: .requestAgain
        case .unusable(let reason):
            head.status < 400
                ? .end(.unusable(DownloadError(.unexpectedContent, reason)))
                : .end(.unusable(DownloadError(.httpStatus, reason, statusCode: head.status)))
        case .otherVersion(let reason): .end(.otherVersion(DownloadError(.resourceChanged, reason)))
        case .refused(let error): .end(.refused(error))
        case .failed(let error): .end(.broken(error))
        }
    }

    /// Reads a body until the connection has delivered its segment.
    private func read(_ body: inout ResponseBody, _ accepted: BodyPlacement, _ connection: Connection) async -> End {
        var slicer = BodySlicer(accepted)
        var position = accepted.offset
        var (digester, changed) = state.withLock { state in
            let changed = state.accepted(accepted.proof)
            return (state.session.pieces.map(PieceDigester.init), changed)
        }
        changed?.renewCheckpoint()
        // Not limited: the minimum speed applies to all connections together, and ``tick()`` checks it.
        var floor: MinimumSpeedMonitor?
        while !slicer.isDone {
            let chunk: Chunk
            do {
                guard let next = try await transfer.next(of: &body, &floor) else { break }
                chunk = next
            } catch {
                return lost(error, connection)
            }
            let piece = slicer.slice(chunk.count).written
            do {
                guard try !take(chunk, piece, at: position, of: connection, &digester) else { return .complete }
            } catch {
                return .failed(error)
            }
            position += Int64(piece.count)
            body.recycle(chunk)
        }
        return position < accepted.range.upperBound
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
        session.compose(of: connection.source == 0 ? .severalResponses : .severalSources)
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
