/// Which download has which name where files are kept up to date: of two with one name, each would replace the other's file as if
/// it were a new version of it.
///
/// Names are compared as the file system of their directory does, where two texts may be one file, or one text two files.
final class DestinationReservations: Sendable {
    private typealias Name = NameComparison.Key

    private struct Reservation {
        var name: Name
        /// Which of the downloads with this partial, one after the other.
        var download: DownloadID
    }

    private struct State {
        /// The paths of the partials, which tell downloads apart, by final path.
        var holders: [Name: String] = [:]
        /// What each has, by the path of its partial.
        var claims: [String: Reservation] = [:]
    }

    private let state = Locked(State())

    /// Gives a name to a download, which loses the one that it had; false where another one has it.
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

    /// The name of a download is free again, unless a later one has its partial by now.
    func release(_ record: DownloadRecord) {
        let partialPath = record.names.partialPath
        state.withLock { state in
            guard let claim = state.claims[partialPath], claim.download == record.id else { return }
            state.claims[partialPath] = nil
            state.holders[claim.name] = nil
        }
    }
}
