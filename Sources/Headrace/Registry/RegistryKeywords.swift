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

/// The states.
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

/// What the system has of a download.
enum RegistryBackground: String {
    case started
    /// The time and the bytes, in base64, follow.
    case resume
}

/// What few downloads have; what is as usual is left out.
enum RegistryOption: String {
    case mirrors
    case conflict
    case resume
    /// The size that the file has to have.
    case size
    case checksums
    /// The length of a piece, the hash function, all digests in base64, and the size of the file where it is known.
    case pieces
    case mismatch
    case refetch
    /// Name and value of each field in turn.
    case headers
    /// The names of the fields that are not kept.
    case withheld
    /// Whether user and password of the URL are not kept.
    case withheldUser
    case group
    case rateLimit
    case title
    /// Key and value of each note in turn.
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
