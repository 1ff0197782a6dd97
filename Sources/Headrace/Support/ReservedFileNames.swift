/// The names of the files that the library creates beside downloads and in a registry's directory.
///
/// They are in one place because no download may have a name that ends like one of them; see ``SafeFileName``.
enum ReservedFileNames {
    static let registry = "registry.journal"
    static let registryLock = "registry.lock"
    static let registryVersions = "registry.versions"
    /// Ends the name of a file that replaces another one when it is complete.
    static let newSuffix = ".new"
    /// Ends the name of a file that could not be read and was set aside.
    static let unreadSuffix = ".unread"
    /// Ends the name of a partial file.
    static let partialSuffix = ".part"
    /// What is appended to the name of a partial file for its resume record, and for the next version of that.
    static let recordSuffixes = [".record", ".record" + newSuffix]

    /// The files in a registry's directory.
    static let ofRegistry = [registry, registry + newSuffix, registry + unreadSuffix, registryLock, registryVersions]

    static let all = ofRegistry + [partialSuffix] + recordSuffixes
}
