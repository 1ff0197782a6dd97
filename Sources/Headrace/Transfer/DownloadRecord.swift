#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// One download in a manager's list: what was asked, how it stands, and the way to stop it.
final class DownloadRecord: Sendable {
    private struct Asked {
        var request: DownloadRequest
        var withoutSecrets: RegistryRequest?
    }

    let id: Download.ID
    let names: DestinationNames
    let status: DownloadStatus
    /// What this manager has written of the file, while no transfer has it open; it need not be read again, nor doubted.
    let held = Locked<HeldBytes?>(nil)
    private let asked: Locked<Asked>

    init(
        id: Download.ID,
        request: DownloadRequest,
        withoutSecrets: RegistryRequest? = nil,
        state: DownloadState = .waiting,
        progress: DownloadProgress = DownloadProgress(),
        observers: ListObservers = ListObservers()
    ) {
        self.id = id
        asked = Locked(Asked(request: request, withoutSecrets: withoutSecrets))
        names = DestinationNames(request)
        status = DownloadStatus(id: id, state, progress, observers: observers)
    }

    var request: DownloadRequest { asked.withLock { $0.request } }

    /// What was kept of the request of an earlier run that had secrets, which are never written to a disk.
    var withoutSecrets: RegistryRequest? { asked.withLock { $0.withoutSecrets } }

    /// Takes over the secrets of a request of the same file, where they are missing.
    func supplySecrets(of request: DownloadRequest) {
        asked.withLock { asked in
            guard asked.withoutSecrets.take() != nil else { return }
            asked.request.url = request.url
            asked.request.headers = request.headers
        }
    }

    /// Forgets the time before which the download was not to begin.
    func forgetBegin() {
        asked.withLock { $0.request.earliestBegin = nil }
    }
}

/// The bytes of a partial that no transfer has open.
final class HeldBytes: Sendable {
    /// The partial as it was left: what somebody else has written since has another stamp.
    let stamp: FileStamp
    let written: ByteRangeSet
    let durable: ByteRangeSet
    let representation: Representation
    let finalPath: String?

    init(
        stamp: FileStamp,
        written: ByteRangeSet,
        durable: ByteRangeSet,
        representation: Representation,
        finalPath: String?
    ) {
        self.stamp = stamp
        self.written = written
        self.durable = durable
        self.representation = representation
        self.finalPath = finalPath
    }
}
