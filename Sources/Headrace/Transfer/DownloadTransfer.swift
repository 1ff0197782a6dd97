#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Fetches one download: asks, follows redirects, writes, checks and names the file.
///
/// Runs on the blocking executor, where its file calls may block.
struct DownloadTransfer {
    /// The longest body of a redirect or refusal that is read to keep its connection.
    private static let maxDrainedBytes: Int64 = 64 * 1024

    private enum Step: Sendable {
        case finished(URL)
        case redirected(URL)
    }

    private let record: DownloadRecord
    private let environment: TransferEnvironment
    private let start: Duration

    init(_ record: DownloadRecord, in environment: TransferEnvironment) {
        self.record = record
        self.environment = environment
        start = environment.clock.now()
    }

    private var request: DownloadRequest { record.request }

    /// Returns the finished file; throws `CancellationError` or a ``DownloadError``.
    func run() async throws -> URL {
        let plan = try DestinationPlan(request, calls: environment.files)
        if let path = plan.knownPath, try plan.isSatisfied(by: path) { return skip(path) }
        let redirects = RedirectPolicy(
            maxRedirects: environment.configuration.maxRedirects,
            allowsInsecure: environment.configuration.allowsInsecureRedirects
        )
        var url = request.url
        var fields = request.headers
        var redirectCount = 0
        while true {
            let asked = TransportRequest(
                url: url,
                fields: fields,
                connectTimeout: environment.configuration.connectTimeout,
                stallTimeout: environment.configuration.stallTimeout
            )
            let step = try await environment.transport.perform(asked) { head, body in
                if let target = try redirects.target(of: head, after: redirectCount) {
                    record.status.publish(
                        .redirected(
                            status: head.status,
                            from: head.url.withoutCredentials,
                            to: target.withoutCredentials
                        )
                    )
                    await drain(&body, of: head)
                    return Step.redirected(target)
                }
                guard head.status == 200 else {
                    await drain(&body, of: head)
                    throw refusal(head)
                }
                return .finished(try await receive(head, &body, plan))
            }
            switch step {
            case .finished(let file): return file
            case .redirected(let target):
                if Origin(target) != Origin(url) { fields.removeAll(where: \.isBoundToOrigin) }
                url = target
                redirectCount += 1
            }
        }
    }

    private func receive(_ head: ResponseHead, _ body: inout ResponseBody, _ plan: DestinationPlan) async throws -> URL
    {
        let framing = try BodyFraming(of: head)
        let path = plan.path(finalURL: head.url, requestURL: request.url)
        if try plan.isSatisfied(by: path) { return skip(path) }
        record.status.publish(
            .responded(status: head.status, totalBytes: framing.length, file: URL(filePath: path))
        )
        let name = String(path.dropFirst(plan.directory.count + 1))
        let partial = try PartialFile(for: name, in: plan.directory, id: record.id, calls: environment.files)
        defer { partial.close() }
        var meter = ProgressMeter(start: start)
        meter.totalBytes = framing.length
        do {
            if let length = framing.length { try partial.requireSpace(for: length) }
            try await write(&body, to: partial, &meter)
            try check(meter.bytesReceived, against: framing)
            let final = try partial.finish(as: path, policy: request.conflictPolicy)
            return finished(URL(filePath: final), framing, &meter)
        } catch {
            record.status.publish(meter.progress(at: environment.clock.now()))
            // Bytes are kept for a later attempt, unless nobody wants them or there are none.
            if meter.bytesReceived == 0 || record.stop.reason == .cancelled { partial.remove() }
            throw error
        }
    }

    private func write(_ body: inout ResponseBody, to partial: PartialFile, _ meter: inout ProgressMeter) async throws {
        while let chunk = try await body.next() {
            let offset = meter.bytesReceived
            try chunk.withBytes { try partial.write($0, at: offset) }
            if let progress = meter.received(chunk.count, at: environment.clock.now()) {
                record.status.publish(progress)
            }
            body.recycle(chunk)
        }
    }

    private func check(_ count: Int64, against framing: BodyFraming) throws(DownloadError) {
        guard let length = framing.length, count != length else { return }
        throw DownloadError(
            count < length ? .connectionLost : .protocolViolation,
            "The server announced \(length) bytes and sent \(count)."
        )
    }

    private func finished(_ file: URL, _ framing: BodyFraming, _ meter: inout ProgressMeter) -> URL {
        let now = environment.clock.now()
        meter.totalBytes = meter.bytesReceived
        record.status.publish(meter.progress(at: now))
        record.status.publish(
            .finished(
                DownloadSummary(
                    file: file,
                    fileSize: meter.bytesReceived,
                    bytesFetched: meter.bytesReceived,
                    duration: now - start,
                    isLengthVerified: framing != .connectionClose
                )
            )
        )
        return file
    }

    private func skip(_ path: String) -> URL {
        let file = URL(filePath: path)
        record.status.publish(.skipped(file))
        return file
    }

    private func refusal(_ head: ResponseHead) -> DownloadError {
        DownloadError(.httpStatus, "The server answered with status \(head.status).", statusCode: head.status)
    }

    /// Reads a short body that nobody wants; a failure in it changes nothing.
    private func drain(_ body: inout ResponseBody, of head: ResponseHead) async {
        guard let length = try? BodyFraming(of: head).length, length <= Self.maxDrainedBytes else { return }
        while let chunk = try? await body.next() { body.recycle(chunk) }
    }
}
