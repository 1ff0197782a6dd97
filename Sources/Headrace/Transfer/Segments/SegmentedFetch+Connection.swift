import HeadracePlatform

/// Begins connections and evaluates how they ended.
extension SegmentedFetch {
    /// Reads the body of the response that began the fetch.
    func readFirst(_ pump: BodyPump, of connection: Connection) async {
        let end = await connection.stop.cancellingTask {
            await withTaskCancellationHandler {
                var receiver = SegmentReceiver(connection, of: self)
                return await receiver.read(pump)
            } onCancel: {
                pump.body.cancel()
            }
        }
        // Without this, the connection would stay open as long as the others run.
        pump.body.cancel()
        finish(connection, end)
    }

    /// Requests a range, on an idle connection if there is one, and reads the response.
    func fetch(_ connection: Connection) async {
        let end = await connection.stop.cancellingTask {
            var receiver = SegmentReceiver(connection, of: self)
            return await receiver.run()
        }
        finish(connection, end)
    }

    /// Reports the end of a connection to the planner, unless the connection was stopped; an error that would affect
    /// the other connections too fails the attempt instead.
    private func finish(_ connection: Connection, _ end: SegmentReceiver.End) {
        let id = connection.id
        switch end {
        case .stopped: return
        case .complete(let staysOpen):
            change(because: .delivered) { state, now in
                state.stops[id] = nil
                return state.planner.ended(id, staysOpen: staysOpen, at: now)
            }
        case .broken(let error):
            change(because: .failed(error)) { state, now in
                guard state.lost(id, error) else { return [] }
                // A host that delivers over other connections probably limits their number.
                guard error.statusCode != nil, state.planner.isDelivering(besides: id) else {
                    return state.planner.failed(id, .broken, at: now)
                }
                return refused(connection, error, in: &state, at: now)
            }
        case .refused(let error):
            change(because: .failed(error)) { state, now in
                guard state.lost(id, error) else { return [] }
                // If older connections receive further bytes, the host limits connections; otherwise it is down.
                if error.statusCode == nil { state.planner.refused(id, at: now) }
                guard error.statusCode != nil, !state.planner.pool.isUnverifiedTwin(connection.source) else {
                    return state.planner.failed(id, .broken, at: now)
                }
                return refused(connection, error, in: &state, at: now)
            }
        case .unusable(let error):
            change(because: .failed(error)) { state, now in
                state.stops[id] = nil
                if error.code == .resourceChanged { state.planner.retire(connection.source) }
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
    /// Records a lost connection; returns `true` if the planner must handle the loss.
    ///
    /// Fails the attempt and returns `false` if all of these are true:
    /// - No other connection is open.
    /// - The source of the connection is that of the first request.
    /// - The connection has delivered enough bytes not to count as failed; see ``Segment/wouldBeFailure``.
    ///
    /// The download then retries after a wait, possibly with another source.
    fileprivate mutating func lost(_ id: SegmentID, _ error: DownloadError) -> Bool {
        stops[id] = nil
        lastLoss = error
        guard stops.isEmpty,
            planner.segments.contains(where: { $0.id == id && $0.source == 0 && !$0.wouldBeFailure })
        else {
            return true
        }
        failure = failure ?? error
        return false
    }

    /// Throws `stalled` if all connections together were below the minimum speed for too long.
    ///
    /// Time is not counted while all connections write to the disk, or while one waits for a rate limit.
    mutating func checkMinimumSpeed(at now: Duration, isThrottled: Bool) throws(DownloadError) {
        let count = Int(clamping: transfer.state.fetchedBytes - lastFetchedBytes)
        let elapsed = now - lastTick
        (lastTick, lastFetchedBytes) = (now, transfer.state.fetchedBytes)
        floor?.received(count, after: isThrottled || writers >= max(1, stops.count) ? .zero : elapsed)
        try floor?.check()
    }
}
