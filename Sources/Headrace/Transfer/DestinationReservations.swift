/// Reserves the names of files that downloads may replace with newer versions, and the names under which they save
/// wrong files.
///
/// Without a reservation, two downloads with one name would each take the other's file for an older version and replace
/// it.
///
/// Paths are compared by the rules of their directory's file system, which may treat two different strings as the same
/// name.
final class DestinationReservations: Sendable {
    private typealias Name = NameComparison.Key

    private struct Reservation {
        var name: Name
        /// The download that made the reservation; only this download may release it.
        ///
        /// A later download with the same partial file replaces the reservation by its own.
        var download: DownloadID
    }

    private struct State {
        /// For each reserved name, the partial-file path of the download that reserved it.
        var holders: [Name: String] = [:]
        /// For each partial-file path, its reservation.
        var claims: [String: Reservation] = [:]
    }

    private let state = Locked(State())

    /// Reserves a path for a download and releases the download's previous reservation; returns `false`, and changes
    /// nothing, if another download has reserved the path.
    func claim(_ path: String, comparedBy comparison: NameComparison = .bytes, for record: DownloadRecord) -> Bool {
        let (name, partialPath) = (comparison.key(of: path), record.partialPath)
        return state.withLock { state in
            guard state.holders[name, default: partialPath] == partialPath else { return false }
            let claim = Reservation(name: name, download: record.id)
            if let other = state.claims.updateValue(claim, forKey: partialPath) { state.holders[other.name] = nil }
            state.holders[name] = partialPath
            return true
        }
    }

    /// Releases the name that a download reserved, unless a later download has taken over its partial file.
    func release(_ record: DownloadRecord) {
        let partialPath = record.partialPath
        state.withLock { state in
            guard let claim = state.claims[partialPath], claim.download == record.id else { return }
            state.claims[partialPath] = nil
            state.holders[claim.name] = nil
        }
    }
}
