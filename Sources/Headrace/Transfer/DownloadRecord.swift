/// One download in a manager's list: what was asked, how it stands, and the way to stop it.
final class DownloadRecord: Sendable {
    let id: Download.ID
    let request: DownloadRequest
    let names: DestinationNames
    let status: DownloadStatus

    init(id: Download.ID, request: DownloadRequest, observers: ListObservers = ListObservers()) {
        self.id = id
        self.request = request
        names = DestinationNames(request)
        status = DownloadStatus(id: id, observers: observers)
    }
}
