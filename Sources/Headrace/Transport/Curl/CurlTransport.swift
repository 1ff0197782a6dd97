#if os(Linux)
import CHeadrace
import HeadracePlatform

/// The libcurl transport: a dedicated thread drives all transfers and retains connections for reuse.
package final class CurlTransport: Transport {
    private let loop: CurlLoop
    private let pool = ChunkPool()
    private let budget = BufferBudget()

    /// Loads libcurl and starts the thread.
    /// - Parameter configuration: The settings for all transfers.
    /// - Throws: `transportUnavailable` if libcurl is missing, older than 7.68 or does not support a setting, or if the
    ///   thread cannot be started; `fileSystem` if too many files are open.
    package init(_ configuration: DownloadConfiguration) throws(DownloadError) {
        try Self.requireLibrary()
        try Self.require(configuration.connectionPolicy.httpVersion)
        if configuration.connectionPolicy.dnsOverHTTPS != nil { try Self.requireDNSOverHTTPS() }
        loop = try CurlLoop(configuration)
    }

    package func perform<Result: Sendable>(
        _ request: TransportRequest,
        _ receive: (ResponseHead, inout ResponseBody) async throws -> Result
    ) async throws -> Result {
        let share = budget.admit()
        let stream = ResponseStream(highWatermark: share, pool: pool, buffering: request.bufferBytes)
        defer {
            stream.close()
            budget.dismiss(share)
        }
        return try await withTaskCancellationHandler {
            loop.start(request, stream)
            do {
                let head = try await stream.nextHead()
                var body = ResponseBody(stream)
                return try await receive(head, &body)
            } catch let error as DownloadError where error.code == .stalled {
                // `receive` also throws `stalled`, for a body that is too slow. The stream is closed first, because
                // only idle connections become suspect.
                stream.close()
                loop.suspectConnections(of: request)
                throw error
            }
        } onCancel: {
            stream.close()
        }
    }

    package func dropIdleConnections() {
        loop.dropIdleConnections()
    }

    package func shutdown() async {
        await loop.shutdown()
    }

    /// Loads libcurl and its dependencies, about thirty libraries, on a separate thread; returns when that is done.
    ///
    /// Ignores failures: creating a transport throws if libcurl cannot be loaded.
    static func load() async {
        await (try? WorkerThread(name: "headrace-load") { _ = hr_curl_load() })?.join()
    }

    /// Throws `transportUnavailable` if libcurl may crash when a lookup over HTTPS is cancelled.
    private static func requireDNSOverHTTPS() throws(DownloadError) {
        guard (0x080500..<0x080900).contains(hr_curl_load()) else { return }
        throw DownloadError(
            .transportUnavailable,
            "libcurl \(String(cString: hr_curl_description())) may crash during a DNS lookup over HTTPS; libcurl 8.9 is "
                + "correct. The environment variable HEADRACE_LIBCURL can name another libcurl."
        )
    }

    /// Throws `transportUnavailable` if libcurl was built without this version of HTTP.
    private static func require(_ version: ConnectionPolicy.HTTPVersion) throws(DownloadError) {
        guard Int(hr_curl_features()) & version.feature != version.feature else { return }
        let found = String(cString: hr_curl_description())
        throw DownloadError(
            .transportUnavailable,
            "libcurl \(found) was built without HTTP/\(version == .http3 ? 3 : 2). The environment variable "
                + "HEADRACE_LIBCURL can name another libcurl."
        )
    }

    private static func requireLibrary() throws(DownloadError) {
        let version = hr_curl_load()
        guard version < UInt32(HR_CURL_MINIMUM_VERSION) else { return }
        let found = String(cString: hr_curl_description())
        let isOwn = ProcessInfo.processInfo.environment["HEADRACE_LIBCURL"]?.isEmpty == false
        let install =
            isOwn
            ? "The environment variable HEADRACE_LIBCURL names this library."
            : "Install the package libcurl4 (Debian, Ubuntu) or libcurl (Fedora, Alpine)."
        throw DownloadError(
            .transportUnavailable,
            version == 0
                ? "libcurl could not be loaded: \(found). \(install)"
                : "libcurl \(found) is too old, 7.68.0 or newer is needed. \(install)"
        )
    }
}
#endif
