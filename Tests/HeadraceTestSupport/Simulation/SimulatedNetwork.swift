import Headrace
import HeadracePlatform

/// The network of a simulation: sends a site's replies in virtual time, and counts connections and bytes.
final class SimulatedNetwork: Sendable {
    /// One request of a process and its response.
    struct Exchange: Sendable {
        let number: Int
        let process: Int
        let url: URL
        /// The first URL of the file.
        let fileURL: URL
        let reply: SimulatedSite.Reply
        /// The beginning of the requested range, if the reply is a range; a server that sends earlier bytes repeats them itself.
        let start: Int
        let stallTimeout: Duration
    }

    private struct Active {
        /// The first URL of the file.
        let url: URL
        let host: String?
        let process: Int
        let isCounted: Bool
    }

    private struct State {
        var site: SimulatedSite
        var lastNumber = 0
        var active: [Int: Active] = [:]
        /// The number of downloads that the present process may run at once.
        var limit = Int.max
        /// The limit until ``limitChange``, whose downloads may send a last request while they stop.
        var earlierLimit = Int.max
        var limitChange = Duration.zero
        var hostLimit = Int.max
        /// The URLs of several downloads, whose requests cannot be distinguished.
        var sharedURLs: Set<URL> = []
        /// The moment since which there is no network; `nil` if there is one.
        var offlineSince: Duration?
        /// The bytes that each process received, by URL, in the order of their arrival.
        var received: [URL: [Range<Int>]] = [:]
    }

    private let state: Locked<State>
    private let log: SimulationLog
    private let clock: TestClock
    private let pool = ChunkPool()

    init(_ site: SimulatedSite, _ log: SimulationLog, _ clock: TestClock) {
        state = Locked(State(site: site))
        self.log = log
        self.clock = clock
    }

    var site: SimulatedSite { state.withLock { $0.site } }

    /// Ends all faults.
    func calm() {
        state.withLock { $0.site.isDisturbed = false }
    }

    /// Interrupts the network, which breaks all connections, or restores it.
    func setOffline(_ isOffline: Bool) {
        let now = clock.now.offset
        state.withLock { $0.offlineSince = isOffline ? $0.offlineSince ?? now : nil }
    }

    private var isOffline: Bool { state.withLock { $0.offlineSince != nil } }

    /// Changes the file that a URL refers to.
    func change(_ index: Int) {
        state.withLock { $0.site.change(index) }
    }

    /// Prepares for a new process with these limits.
    func begin(limit: Int, hostLimit: Int) {
        state.withLock { state in
            (state.limit, state.earlierLimit, state.hostLimit, state.received) = (limit, limit, hostLimit, [:])
        }
    }

    /// Records that the limit on running downloads has changed.
    func setLimit(_ limit: Int) {
        let now = clock.now.offset
        state.withLock { state in
            state.earlierLimit = state.limitChange == now ? max(state.earlierLimit, state.limit) : state.limit
            (state.limit, state.limitChange) = (limit, now)
        }
    }

    /// Records that several downloads have this URL.
    func share(_ url: URL) {
        state.withLock { _ = $0.sharedURLs.insert(url) }
    }

    /// Returns the number of bytes of each URL that were received more than once since the process began.
    func repeatedBytes() -> [URL: Int] {
        state.withLock { $0.received }.mapValues { ranges in
            var (end, repeated) = (0, 0)
            for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
                repeated += max(0, min(end, range.upperBound) - range.lowerBound)
                end = max(end, range.upperBound)
            }
            return repeated
        }
    }

    func begin(_ request: TransportRequest, of process: Int) -> Exchange {
        let now = clock.now.offset
        let (exchange, problem) = state.withLock { state in
            let limit = state.limitChange == now ? max(state.limit, state.earlierLimit) : state.limit
            let active = state.active.values.filter { $0.process == process }
            let urls = Set(active.map(\.url))
            let url = state.site.file(at: request.url)?.url ?? request.url
            var problem: String?
            if let since = state.offlineSince, since < now { problem = "a request is sent without a network" }
            if !urls.contains(url), urls.count >= limit {
                problem = "\(urls.count + 1) downloads run at once; the limit is \(limit)"
            }
            let reply = state.site.reply(to: request)
            // Small files are not counted, and another download closes its surplus connections only a moment later.
            let isCounted = reply.fileSize >= 1 << 20
            let ofHost = active.count { $0.isCounted && $0.host == request.url.host() }
            let isFurther = urls.contains(url) && !state.sharedURLs.contains(url)
            if isCounted, isFurther, ofHost >= state.hostLimit {
                problem = "\(ofHost + 1) connections to a host; the limit is \(state.hostLimit)"
            }
            state.lastNumber += 1
            state.active[state.lastNumber] = Active(
                url: url,
                host: request.url.host(),
                process: process,
                isCounted: isCounted
            )
            let exchange = Exchange(
                number: state.lastNumber,
                process: process,
                url: request.url,
                fileURL: url,
                reply: reply,
                start: reply.status == 206 ? request.range(of: reply.fileSize)?.lowerBound ?? 0 : 0,
                stallTimeout: request.stallTimeout
            )
            return (exchange, problem)
        }
        let reply = exchange.reply
        let fields = ["Range", "If-Range", "If-None-Match"].compactMap { name in
            request.value(name).map { "\(name): \($0)" }
        }
        let isMirror = request.url.host() == "mirror"
        log.note(
            "#\(exchange.number) GET \(isMirror ? "mirror/" : "")\(request.url.lastPathComponent) \(fields.joined(separator: ", ")) -> "
                + "\(reply.refusal.map { $0.message } ?? "\(reply.status)") \(reply.start)+\(reply.body.count) \(reply.end) "
                + reply.note
        )
        if let problem { log.violation(problem) }
        return exchange
    }

    /// Records that a connection is closed or free for another request.
    private func end(_ exchange: Exchange) {
        let isFirst = state.withLock { $0.active.removeValue(forKey: exchange.number) != nil }
        if isFirst { log.note("#\(exchange.number) ended") }
    }

    private func received(_ range: Range<Int>, by exchange: Exchange) {
        let range = range.clamped(to: exchange.start..<Int.max)
        guard !range.isEmpty else { return }
        state.withLock { $0.received[exchange.fileURL, default: []].append(range) }
    }

    /// Delivers a reply, until the reader closes the stream or the task is cancelled.
    func deliver(_ exchange: Exchange, to stream: ResponseStream) async {
        let reply = exchange.reply
        let (resumptions, resumption) = AsyncStream.makeStream(of: Void.self)
        let producer = ResponseStream.Producer {
            resumption.yield()
        } cancel: { [self] in
            resumption.finish()
            end(exchange)
        }
        stream.connect(producer)
        defer { end(exchange) }
        do {
            try await clock.sleep(for: reply.latency)
            if reply.isSilent { return try await stall(exchange, stream) }
            if let refusal = reply.refusal { return stream.fail(refusal) }
            if isOffline { return stream.fail(DownloadError(.connection, "Offline.")) }
            stream.deliver(ResponseHead(url: exchange.url, status: reply.status, fields: reply.fields))
            stream.flush()
            var offset = 0
            while offset < reply.body.count {
                let count = min(max(1024, reply.bytesPerSecond / 8), 32 << 10, reply.body.count - offset)
                try await clock.sleep(for: .microseconds(count * 1_000_000 / reply.bytesPerSecond))
                // Some connections break at once, others are silent.
                if isOffline, exchange.number % 2 == 0 { return try await stall(exchange, stream) }
                if isOffline { return stream.fail(DownloadError(.connectionLost, "Offline.")) }
                let demand = reply.body[offset..<offset + count].withUnsafeBytes { stream.deliver($0) }
                guard demand != .stop else { return }
                received(reply.start + offset..<reply.start + offset + count, by: exchange)
                offset += count
                stream.flush()
                guard demand == .pause else { continue }
                for await _ in resumptions { break }
            }
            switch reply.end {
            case .finished: stream.finish()
            case .lost: stream.fail(DownloadError(.connectionLost, "Lost."))
            case .silence: try await stall(exchange, stream)
            }
        } catch {
            // The reader has stopped.
        }
    }

    private func stall(_ exchange: Exchange, _ stream: ResponseStream) async throws {
        try await clock.sleep(for: exchange.stallTimeout)
        stream.fail(DownloadError(.stalled, "Silent."))
    }

    func response(_ exchange: Exchange) -> ResponseStream { ResponseStream(highWatermark: 64 << 10, pool: pool) }
}

/// The transport of one process of a simulation.
struct SimulatedTransport: Transport {
    let network: SimulatedNetwork
    let process: Int
    let isKilled: @Sendable () -> Bool

    func perform<Result: Sendable>(
        _ request: TransportRequest,
        _ receive: (ResponseHead, inout ResponseBody) async throws -> Result
    ) async throws -> Result {
        guard !isKilled() else { throw DownloadError(.connectionLost, "Killed.") }
        let exchange = network.begin(request, of: process)
        let stream = network.response(exchange)
        return try await withThrowingDiscardingTaskGroup { group in
            group.addTask { await network.deliver(exchange, to: stream) }
            defer {
                stream.close()
                group.cancelAll()
            }
            return try await withTaskCancellationHandler {
                let head = try await stream.nextHead()
                var body = ResponseBody(stream)
                return try await receive(head, &body)
            } onCancel: {
                stream.close()
            }
        }
    }

    func dropIdleConnections() {}

    func shutdown() async {}
}
