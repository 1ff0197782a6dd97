/// Reserves the names of files that are kept up to date, since two downloads with one name would replace each other's file as
/// if it were a new version.
///
/// Names are compared as the file system of their directory does: two strings may name one file, and equal strings two files.
final class DestinationReservations: Sendable {
    private typealias Name = NameComparison.Key

    private struct Reservation {
        var name: Name
        /// The download that holds it; several may use the partial file one after another.
        var download: DownloadID
    }

    private struct State {
        /// The paths of the partial files, which identify downloads, by final path.
        var holders: [Name: String] = [:]
        /// The reservation of each download, by the path of its partial file.
        var claims: [String: Reservation] = [:]
    }

    private let state = Locked(State())

    /// Reserves a name for a download, which loses its previous one; returns `false` if another download has the name.
    func claim(_ path: String, comparedBy comparison: NameComparison = .bytes, for record: DownloadRecord) -> Bool {
        let (name, partialPath) = (comparison.key(of: path), record.names.partialPath)
        return state.withLock { state in
            guard state.holders[name, default: partialPath] == partialPath else { return false }
            let claim = Reservation(name: name, download: record.id)
            if let other = state.claims.updateValue(claim, forKey: partialPath) { state.holders[other.name] = nil }
            state.holders[name] = partialPath
            return true
        }
    }

    /// Releases the name of a download, unless a later one uses its partial file.
    func release(_ record: DownloadRecord) {
        let partialPath = record.names.partialPath
        state.withLock { state in
            guard let claim = state.claims[partialPath], claim.download == record.id else { return }
            state.claims[partialPath] = nil
            state.holders[claim.name] = nil
        }
    }
}
