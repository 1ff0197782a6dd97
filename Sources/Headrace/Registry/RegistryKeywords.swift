/// The kinds of changes in a journal.
enum RegistryKind: String {
    case add
    case state
    case move
    case relabel
    case priority
    case remove
}

/// The kinds of destinations.
enum RegistryDestinationKind: String {
    case file
    case directory
}

/// The states of downloads.
enum RegistryStateName: String {
    case waiting
    case requeued
    case running
    case paused
    case finishing
    case finished
    case skipped
    case failed
    case cancelled
}

/// The state of a background task.
enum RegistryBackground: String {
    case started
    /// Followed by the time and the resume data in base64.
    case resume
}

/// The names of an entry's optional properties, which are written only if they differ from the default.
enum RegistryOption: String {
    case mirrors
    case conflict
    case resume
    /// The expected size of the file in bytes.
    case size
    case checksums
    /// The length of a piece, the hash function, all digests in base64, and the size of the file if known.
    case pieces
    case mismatch
    case refetch
    /// The name and the value of each field, alternating.
    case headers
    /// The names of the fields that are not saved.
    case withheld
    /// Whether the URL's user and password are not saved.
    case withheldUser
    case group
    case rateLimit
    case title
    /// The key and the value of each note, alternating.
    case info
    case priority
    case notBefore
    case paused
    case network
    /// The number of the download in its queue.
    case number
    case background
    case state
}
