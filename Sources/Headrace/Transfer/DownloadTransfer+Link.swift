import HeadracePlatform

/// New links in the place of those that have ended.
extension DownloadTransfer {
    /// Asks for a new link where the present one has ended by the clock, which may be wrong: without one it is tried.
    func renewExpiredLink(_ attempts: inout TransferState) async throws {
        guard let provider = record.requested({ $0.linkProvider }), let end = attempts.sources.expires,
            WallTime.duration(until: end) == .zero, attempts.mayRenewLink()
        else { return }
        switch try await link(of: provider) {
        case .success(let link):
            attempts.renewSource(link)
            publish(.fellBack("The link has expired; a new one takes its place."))
        case .failure(let cause):
            publish(.fellBack("The link has expired. A new link could not be had: \(Self.reason(cause))"))
        }
    }

    /// Asks for a new link after an error that an old one may be the reason of; nil where there is one, else the error.
    ///
    /// A mirror that has not got the file is left: the provider's link is none of it.
    func renewLink(_ attempts: inout TransferState, after error: DownloadError) async throws -> DownloadError? {
        guard let provider = request.linkProvider, attempts.sources.isOrigin, let status = error.statusCode,
            SourceList.endedStatuses.contains(status), attempts.mayRenewLink()
        else { return error }
        switch try await link(of: provider) {
        case .success(let link):
            attempts.renewSource(link)
            publish(.sourceFailed(error, next: link.url.withoutCredentials))
            return nil
        case .failure(let cause):
            return DownloadError(
                error.code,
                "\(error.message) A new link could not be had: \(Self.reason(cause))",
                statusCode: status,
                cause: cause
            )
        }
    }

    /// Throws where the download has to stop, and nothing else.
    private func link(
        of provider: DownloadRequest.LinkProvider
    ) async throws(CancellationError) -> Result<DownloadRequest.Link, any Error> {
        do {
            let link = try await provider.link()
            try DownloadRequest.validateURL(link.url)
            return .success(link)
        } catch {
            guard stop.reason == nil, !Task.isCancelled else { throw CancellationError() }
            return .failure(error)
        }
    }

    private static func reason(_ cause: any Error) -> String {
        (cause as? DownloadError)?.message ?? "\(cause)"
    }
}
