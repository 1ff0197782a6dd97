#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// New links in the place of those that have ended.
extension DownloadTransfer {
    /// Asks for a new link where the present one has ended by the clock.
    func renewExpiredLink(_ attempts: inout Attempts) async throws {
        guard let provider = request.linkProvider, let end = attempts.sources.expires,
            WallTime.duration(until: end) == .zero, attempts.mayRenewLink()
        else { return }
        try await renewLink(&attempts, with: provider, after: DownloadError(.httpStatus, "The link has expired."))
        tell(.fellBack("The link has expired; a new one takes its place."))
    }

    /// Asks for a new link after an error that an old one may be the reason of; false where none is to be had.
    func renewLink(_ attempts: inout Attempts, after error: DownloadError) async throws -> Bool {
        guard let provider = request.linkProvider, let status = error.statusCode,
            FileSources.endedStatuses.contains(status), attempts.mayRenewLink()
        else { return false }
        try await renewLink(&attempts, with: provider, after: error)
        tell(.sourceFailed(error, next: attempts.sources.current.withoutCredentials))
        return true
    }

    private func renewLink(
        _ attempts: inout Attempts,
        with provider: DownloadRequest.LinkProvider,
        after error: DownloadError
    ) async throws {
        do {
            let link = try await provider.link()
            try DownloadRequest.validateURL(link.url)
            attempts.sources.renew(link)
        } catch let cause {
            guard stop.reason == nil, !(cause is CancellationError) else { throw cause }
            let reason = (cause as? DownloadError)?.message ?? "\(cause)"
            throw DownloadError(
                error.code,
                "\(error.message) A new link could not be had: \(reason)",
                statusCode: error.statusCode,
                cause: cause
            )
        }
    }
}
