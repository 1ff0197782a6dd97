/// One download in a manager's list: what was asked, how it stands, and the way to stop it.
final class DownloadRecord: Sendable {
    let id: Download.ID
    let request: DownloadRequest
    let names: DestinationNames
    let status: DownloadStatus
    /// What was kept of the request of an earlier run that had secrets, which are never written to a disk.
    let withoutSecrets: RegistryRequest?

    init(
        id: Download.ID,
        request: DownloadRequest,
        withoutSecrets: RegistryRequest? = nil,
        state: DownloadState = .waiting,
        observers: ListObservers = ListObservers()
    ) {
        self.id = id
        self.request = request
        names = DestinationNames(request)
        self.withoutSecrets = withoutSecrets
        status = DownloadStatus(id: id, state, observers: observers)
    }
}
