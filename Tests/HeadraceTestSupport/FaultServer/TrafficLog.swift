import Headrace

/// The server's shared state: received requests, open sockets, and tasks that wait for more traffic.
final class TrafficLog: Sendable {
    private struct Connection {
        let socket: Socket
        /// The request in progress.
        var request: Int?
        /// Whether the server has ended the connection, or is about to.
        var isEnding = false
    }

    private struct Waiter {
        let condition: @Sendable (Traffic) -> Bool
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var traffic = Traffic()
        var connections: [Int: Connection] = [:]
        var attempts: [String: Int] = [:]
        var waiters: [Int: Waiter] = [:]
        var lastWaiter = 0
        var cancelledEarly: Set<Int> = []
        var isStopping = false
    }

    private let state = Locked(State())

    var traffic: Traffic {
        state.withLock { $0.traffic }
    }

    /// Registers a connection and returns its number; `nil` if the server is stopping.
    func open(_ socket: Socket) -> Int? {
        change { state in
            guard !state.isStopping else { return nil }
            let number = state.traffic.connectionCount
            state.traffic.connectionCount += 1
            state.traffic.openConnections += 1
            state.connections[number] = Connection(socket: socket)
            if state.connections.count > state.traffic.maxOpenConnections {
                let count = TrafficLog.liveCount(state.connections.values.filter { !$0.isEnding })
                state.traffic.maxOpenConnections = max(state.traffic.maxOpenConnections, count)
            }
            return number
        }
    }

    /// Records a request, filling in its index and attempt.
    func begin(_ request: RecordedRequest) -> RecordedRequest {
        change { state in
            var request = request
            request.index = state.traffic.requests.count
            request.attempt = state.attempts[request.path, default: 0]
            state.attempts[request.path] = request.attempt + 1
            state.traffic.activeRequests += 1
            state.connections[request.connection]?.request = request.index
            if state.traffic.activeRequests > 1 {
                let count = TrafficLog.liveCount(state.connections.values.filter { $0.request != nil })
                request.concurrentRequests = max(1, count)
            }
            state.traffic.maxActiveRequests = max(state.traffic.maxActiveRequests, request.concurrentRequests)
            state.traffic.requests.append(request)
            return request
        }
    }

    /// Counts bytes of a body; a correction may be negative.
    func sent(_ count: Int, for request: Int) {
        change { $0.traffic.requests[request].bodyBytesSent += Int64(count) }
    }

    /// Ends a request just before its response completes, so that the client's next one does not count as concurrent.
    func end(_ request: RecordedRequest) {
        change { TrafficLog.endRequest(of: request.connection, in: &$0) }
    }

    /// Marks a connection that the server is about to end: the client may notice the end before the log does.
    func beginEnding(_ connection: Int) {
        change { state in
            TrafficLog.endRequest(of: connection, in: &state)
            state.connections[connection]?.isEnding = true
        }
    }

    /// Closes a connection's socket under the lock, so that a reused descriptor is never shut down.
    func close(_ connection: Int) {
        change { state in
            TrafficLog.endRequest(of: connection, in: &state)
            guard let removed = state.connections.removeValue(forKey: connection) else { return }
            removed.socket.close()
            state.traffic.openConnections -= 1
        }
    }

    /// Wakes every thread that waits on a socket, and stops registering connections.
    func stop() {
        change { state in
            state.isStopping = true
            for connection in state.connections.values { connection.socket.shutDown() }
        }
    }

    func wait(until condition: @escaping @Sendable (Traffic) -> Bool) async throws {
        let id = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result: Result<Void, any Error>? = state.withLock { state in
                    if state.cancelledEarly.remove(id) != nil { return .failure(CancellationError()) }
                    if condition(state.traffic) { return .success(()) }
                    state.waiters[id] = Waiter(condition: condition, continuation: continuation)
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                let waiter = state.waiters.removeValue(forKey: id)
                if waiter == nil { state.cancelledEarly.insert(id) }
                return waiter
            }
            waiter?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Changes the state and wakes the tasks whose condition has become true.
    private func change<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        let (result, woken) = state.withLock { state in
            let result = body(&state)
            let satisfied = state.waiters.filter { $0.value.condition(state.traffic) }
            for id in satisfied.keys { state.waiters[id] = nil }
            return (result, satisfied.values.map(\.continuation))
        }
        for continuation in woken { continuation.resume() }
        return result
    }

    private static func endRequest(of connection: Int, in state: inout State) {
        guard state.connections[connection]?.request != nil else { return }
        state.connections[connection]?.request = nil
        state.traffic.activeRequests -= 1
    }

    /// Returns the number of connections whose client has not hung up.
    private static func liveCount(_ connections: [Connection]) -> Int {
        Socket.liveCount(connections.map(\.socket))
    }
}
