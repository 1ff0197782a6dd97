import HeadracePlatform

/// Requests new links from the request's link provider when links expire.
extension DownloadTransfer {
    /// Requests a new link from the provider if the present link has expired.
    ///
    /// If the provider fails, the present link is used nevertheless, since the local clock may be wrong.
    func renewExpiredLink(_ attempts: inout TransferState) async throws {
        guard let provider = record.requested({ $0.linkProvider }), let end = attempts.sources.expires,
            WallTime.duration(until: end) == .zero, attempts.mayRenewLink()
        else { return }
        switch try await link(of: provider) {
        case .success(let link):
            attempts.renewSource(link)
            publish(.notice(.linkRenewed))
        case .failure(let cause):
            publish(.notice(.linkNotRenewed(reason: Self.reason(cause))))
        }
    }

    /// Requests a new link after an error that an expired link may have caused.
    ///
    /// Returns `nil` if the provider returned a new link, else the error with which the attempt fails.
    ///
    /// After an error of a mirror, no link is requested, since a new link can replace only the origin's.
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
                "\(error.message) No new link could be obtained: \(Self.reason(cause))",
                statusCode: status,
                cause: cause
            )
        }
    }

    /// Calls the link provider and returns its link or its error; throws only if the download must stop.
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
