import HeadracePlatform

/// Finds the directory of the queue.
enum RegistryLocation {
    /// Returns the given directory, or else `headrace` in the state directory (XDG Base Directory Specification).
    static func directory(_ given: String?, environment: [String: String]) throws -> URL {
        if let given {
            guard !given.isEmpty else { throw UsageError("--registry: the path is empty") }
            return URL(givenPath: given, .isDirectory)
        }
        // The specification requires relative paths to be ignored.
        if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") {
            return URL(filePath: state, directoryHint: .isDirectory).appending(path: "headrace/")
        }
        guard let home = environment["HOME"], home.hasPrefix("/") else {
            throw UsageError(
                "neither HOME nor XDG_STATE_HOME is an absolute path; pass the directory of the queue with --registry"
            )
        }
        return URL(filePath: home, directoryHint: .isDirectory).appending(path: ".local/state/headrace/")
    }
}
