import HeadracePlatform

enum RegistryLocation {
    /// Returns the given directory, or else `headrace` in the state directory (XDG Base Directory Specification).
    static func directory(_ given: String?, environment: [String: String]) throws -> URL {
        if let given {
            guard !given.isEmpty else { throw UsageError("--registry: the path is empty") }
            return URL(givenPath: given, .isDirectory)
        }
        guard let directory = folder("XDG_STATE_HOME", ".local/state", environment: environment) else {
            throw UsageError(
                "neither HOME nor XDG_STATE_HOME is an absolute path; pass the directory of the queue with --registry"
            )
        }
        return directory
    }

    /// Returns the tool's folder in the directory of the variable, or else at `fallback` in the user's home directory;
    /// `nil` if neither path is absolute.
    static func folder(_ variable: String, _ fallback: String, environment: [String: String]) -> URL? {
        // The specification requires relative paths to be ignored.
        for (base, path) in [(environment[variable], ""), (environment["HOME"], "\(fallback)/")] {
            guard let base, base.hasPrefix("/") else { continue }
            return URL(filePath: base, directoryHint: .isDirectory).appending(path: "\(path)headrace/")
        }
        return nil
    }
}
