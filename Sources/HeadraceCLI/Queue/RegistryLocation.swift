import HeadracePlatform

/// The directory of the list.
enum RegistryLocation {
    /// The directory that is given, else that of the user's state (XDG Base Directory Specification).
    static func directory(_ given: String?, environment: [String: String]) throws(UsageError) -> URL {
        if let given {
            guard !given.isEmpty else { throw UsageError("--registry: the name is empty") }
            return URL(givenPath: given, .isDirectory)
        }
        // The specification has relative paths ignored.
        if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") {
            return URL(filePath: state, directoryHint: .isDirectory).appending(path: "headrace/")
        }
        guard let home = environment["HOME"], home.hasPrefix("/") else {
            throw UsageError(
                "neither HOME nor XDG_STATE_HOME tells where the list is; name a directory with --registry"
            )
        }
        return URL(filePath: home, directoryHint: .isDirectory).appending(path: ".local/state/headrace/")
    }
}
