#if canImport(Darwin) || URLSession
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// One data task and the stream that it feeds; but for ``stall()`` it is used on the relay's queue alone.
final class URLSessionTransfer: Sendable {
    private struct State {
        var course: URLSessionCourse
        /// Whether only the end of a TLS connection tells the end of the body.
        var endsWithTLS = false
    }

    let task: URLSessionDataTask
    let stream: ResponseStream
    private let request: TransportRequest
    private let state: Locked<State>

    init(_ task: URLSessionDataTask, _ request: TransportRequest, _ stream: ResponseStream) {
        self.task = task
        self.request = request
        self.stream = stream
        let suspends = URLSessionAbilities.current.suspends
        state = Locked(State(course: URLSessionCourse(request, suspends: suspends, at: .now)))
    }

    /// Returns why nothing will come any more, as soon as nothing has come for too long; nil when the task is cancelled.
    func stall() async -> DownloadError? {
        while true {
            switch state.withLock({ $0.course.look(at: .now) }) {
            case .wait(let time):
                guard (try? await ContinuousClock().sleep(until: time)) != nil else { return nil }
            case .stalled(let error): return error
            }
        }
    }

    /// Takes the head; false where the task is of no use any more.
    func receive(_ response: URLResponse) -> Bool {
        do throws(DownloadError) {
            // A second one is of an answer in several parts, which nobody asked for.
            guard let response = response as? HTTPURLResponse, !state.withLock({ $0.course.hasHead }) else {
                throw DownloadError(.protocolViolation, "The server's answer is not one HTTP response.")
            }
            var fields: [String: String] = [:]
            for case (let name as String, let value as String) in response.allHeaderFields { fields[name] = value }
            let head = try ResponseHead(url: request.url, status: response.statusCode, joined: fields)
            state.withLock { state in
                state.course.headArrived(at: .now)
                state.endsWithTLS = head.endsWithTLSConnection
            }
            stream.deliver(head)
            stream.flush()
            return true
        } catch {
            stream.fail(error)
            return false
        }
    }

    func receive(_ data: Data) {
        let demand = data.withUnsafeBytes { stream.deliver($0) }
        if state.withLock({ $0.course.bytesArrived(demand, at: .now) }) == .suspend { task.suspend() }
        stream.flush()
    }

    /// The reader has room again.
    func resume() {
        if state.withLock({ $0.course.resumed(at: .now) }) { task.resume() }
    }

    /// Takes the protocol's name, as in `h2`, whose streams mark their own end.
    func receive(protocolName: String) {
        if !protocolName.hasPrefix("http/1") { state.withLock { $0.endsWithTLS = false } }
    }

    func end(_ error: (any Error)?) {
        let (hasHead, endsWithTLS) = state.withLock { ($0.course.hasHead, $0.endsWithTLS) }
        if let error = error as NSError? {
            let failure = URLSessionFailure(code: error.code, detail: error.localizedDescription, hasHead: hasHead)
            stream.fail(failure.error(for: request))
        } else if endsWithTLS {
            stream.fail(
                DownloadError(
                    .protocolViolation,
                    "Only the end of the TLS connection tells the end of the file, and URLSession does not tell whether it "
                        + "was cut. Take another transport for this server."
                )
            )
        } else {
            stream.finish()
        }
    }
}
#endif
