#if canImport(Darwin) || URLSession
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// One data task and the stream that it feeds; but for ``stall()`` it is used on the relay's queue alone.
final class URLSessionTransfer: Sendable {
    let task: URLSessionDataTask
    let stream: ResponseStream
    private let request: TransportRequest
    private let course: Locked<URLSessionTransferState>

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
        course = Locked(
            URLSessionTransferState(request, suspends: suspends, hasOwnAuthorities: hasOwnAuthorities, at: .now)
        )
    }

    /// Returns why nothing will come any more, as soon as nothing has come for too long; nil when the task is cancelled.
    func stall() async -> DownloadError? {
        while true {
            switch course.withLock({ $0.check(at: .now) }) {
            case .wait(let time):
                guard (try? await SuspendingClock().sleep(until: time)) != nil else { return nil }
            case .stalled(let error): return error
            }
        }
    }

    /// Takes the head; false where the task is of no use any more.
    func receive(_ response: URLResponse) -> Bool {
        do throws(DownloadError) {
            // A second one is of an answer in several parts, which nobody asked for.
            guard let response = response as? HTTPURLResponse, !course.withLock({ $0.hasHead }) else {
                throw DownloadError(.protocolViolation, "The server's answer is not one HTTP response.")
            }
            let fields = ResponseHead.fields(response.allHeaderFields)
            let head = try ResponseHead(url: request.url, status: response.statusCode, joined: fields)
            course.withLock { $0.headArrived(head, at: .now) }
            stream.deliver(head)
            stream.flush()
            return true
        } catch {
            stream.fail(error)
            return false
        }
    }

    func receive(_ data: Data) {
        // As a whole, data of several parts would be copied to one place.
        let demands = data.regions.map { $0.withUnsafeBytes { stream.deliver($0) } }
        let demand = demands.contains(.pause) ? ResponseStreamState.Demand.pause : .more
        if course.withLock({ $0.bytesArrived(demand, at: .now) }) == .suspend { task.suspend() }
        stream.flush()
    }

    /// The reader has room again.
    func resume() {
        if course.withLock({ $0.resumed(at: .now) }) { task.resume() }
    }

    func receive(protocolName: String) {
        course.withLock { $0.isProtocol(protocolName) }
    }

    func end(_ error: (any Error)?, isShutDown: Bool) {
        let error = error.map { (code: ($0 as NSError).code, detail: $0.localizedDescription) }
        if let failure = course.withLock({ $0.failure(error, isShutDown: isShutDown) }) {
            stream.fail(failure)
        } else {
            stream.finish()
        }
    }
}
#endif
