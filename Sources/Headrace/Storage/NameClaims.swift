/// Which download has which name where files are kept up to date: of two with one name, each would replace the other's file as if
/// it were a new version of it.
final class NameClaims: Sendable {
    private struct State {
        /// The paths of the partials, which tell downloads apart, by final path.
        var holders: [String: String] = [:]
        /// The final path that each has.
        var paths: [String: String] = [:]
    }

    private let state = Locked(State())

    /// Gives a name to a download, which loses the one that it had; false where another one has it.
    func claim(_ path: String, for partialPath: String) -> Bool {
        state.withLock { state in
            guard state.holders[path, default: partialPath] == partialPath else { return false }
            if let other = state.paths.updateValue(path, forKey: partialPath) { state.holders[other] = nil }
            state.holders[path] = partialPath
            return true
        }
    }

    /// The name of a download is free again.
    func release(_ partialPath: String) {
        state.withLock { state in
            if let path = state.paths.removeValue(forKey: partialPath) { state.holders[path] = nil }
        }
    }
}
