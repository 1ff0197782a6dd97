/// The transport of a manager that sends no requests itself: it has a background session, or only edits a registry.
///
/// Each request throws `shutDown`.
struct NoTransport: Transport {
    func perform<Result: Sendable>(
        _ request: TransportRequest,
        _ body: (ResponseHead, inout ResponseBody) async throws -> Result
    ) async throws -> Result {
        throw DownloadError.shutDown(request.url)
    }

    func dropIdleConnections() {}

    func shutdown() async {}
}
