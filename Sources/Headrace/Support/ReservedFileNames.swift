/// The names of the files that the library creates next to downloads and in a registry's directory.
///
/// They are collected here so that no download gets one of these names or suffixes; see ``SafeFileName``.
enum ReservedFileNames {
    static let registry = "registry.journal"
    static let registryLock = "registry.lock"
    static let registryVersions = "registry.versions"
    static let registryPartials = "registry.partials"
    /// The suffix of a file's next version while it is being written; the complete version then replaces the file.
    static let newSuffix = ".new"
    /// The suffix of a file that could not be read and was renamed or copied for a later inspection.
    static let unreadSuffix = ".unread"
    /// The suffix of a partial file.
    static let partialSuffix = ".part"
    /// The suffixes of a partial file's resume record and of the record's next version while it is being written.
    static let recordSuffixes = [".record", ".record" + newSuffix]

    /// The suffix of the file beside the destination into which a partial file is decoded.
    static let decodedSuffix = ".decoded"
    /// The suffix of the copy that is made if a complete file is on another volume and cannot be renamed.
    static let copySuffix = ".copy"

    /// The names of the files in a registry's directory, including the temporary ones.
    static let ofRegistry = [
        registry, registry + newSuffix, registry + unreadSuffix, registryLock, registryVersions,
        registryVersions + newSuffix, registryPartials, registryPartials + newSuffix,
    ]

    /// The suffixes that are added to the name of a partial file.
    static let besidePartial = recordSuffixes + [decodedSuffix, copySuffix]

    static let all = ofRegistry + [partialSuffix] + besidePartial
}
