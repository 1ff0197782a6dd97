#if canImport(Darwin) || URLSession
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A data task and the stream to which it delivers; used only on the event handler's queue, except for ``stall()``.
final class URLSessionTransfer: Sendable {
    let task: URLSessionDataTask
    let stream: ResponseStream
    let request: TransportRequest
    private let state: Locked<URLSessionTransferState>

    init(
        _ task: URLSessionDataTask,
        _ request: TransportRequest,
        _ stream: ResponseStream,
        hasOwnAuthorities: Bool
    ) {
        self.task = task
        self.request = request
        self.stream = stream
        let suspends = URLSessionCapabilities.current.suspends
        state = Locked(
            URLSessionTransferState(request, suspends: suspends, hasOwnAuthorities: hasOwnAuthorities, at: .now)
        )
    }

    /// Waits until the transfer stalls and returns the error; returns `nil` if the waiting Swift task is cancelled.
    func stall() async -> DownloadError? {
        while true {
            switch state.withLock({ $0.check(at: .now) }) {
            case .wait(let time):
                guard (try? await SuspendingClock().sleep(until: time)) != nil else { return nil }
            case .stalled(let error): return error
            }
        }
    }

    /// Delivers the head to the stream; returns `false` if the response is invalid and the task must be cancelled.
    func receive(_ response: URLResponse) -> Bool {
        do throws(DownloadError) {
            // A second response is part of a multipart response, which was not requested.
            guard let response = response as? HTTPURLResponse, !state.withLock({ $0.hasHead }) else {
                throw DownloadError(.protocolViolation, "The server did not send a single HTTP response.")
            }
            let fields = ResponseHead.fields(response.allHeaderFields)
            let head = try ResponseHead(url: request.url, status: response.statusCode, joined: fields)
            state.withLock { $0.headArrived(head, at: .now) }
            stream.deliver(head)
            stream.flush()
            return true
        } catch {
            stream.fail(error)
            return false
        }
    }

    func receive(_ data: Data) {
        // `data.withUnsafeBytes` would copy data of several regions into one buffer.
        let demands = data.regions.map { $0.withUnsafeBytes { stream.deliver($0) } }
        let demand = demands.contains(.pause) ? ResponseStreamState.Demand.pause : .more
        if state.withLock({ $0.bytesArrived(demand, at: .now) }) == .suspend { task.suspend() }
        stream.flush()
    }

    /// Resumes the task, because the reader has room again.
    func resume() {
        if state.withLock({ $0.resumed(at: .now) }) { task.resume() }
    }

    func receive(protocolName: String) {
        state.withLock { $0.receivedProtocol(protocolName) }
    }

    func end(_ error: (any Error)?, isShutDown: Bool) {
        let error = error.map { (code: ($0 as NSError).code, detail: $0.localizedDescription) }
        if let failure = state.withLock({ $0.failure(error, isShutDown: isShutDown) }) {
            stream.fail(failure)
        } else {
            stream.finish()
        }
    }
}
#endif
