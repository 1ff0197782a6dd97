/// For a manager that downloads nothing, or has it done by the system.
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
