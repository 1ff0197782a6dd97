/// The transport of a manager that does not run downloads; each request throws `shutDown`.
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
