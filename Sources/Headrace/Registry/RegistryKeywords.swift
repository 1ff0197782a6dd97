/// The keywords for the kinds of changes in a journal.
enum RegistryKind: String {
    case add
    case state
    case move
    case relabel
    case priority
    case remove
}

/// The keywords for the kinds of destinations.
enum RegistryDestinationKind: String {
    case file
    case directory
}

/// The keywords for the states of downloads.
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

/// The keywords for the state of a background task.
enum RegistryBackground: String {
    case started
    /// Stopped with resume data; followed by the time of the data and the data in base64.
    case resume
}

/// The names of an entry's optional properties, which are written only if they differ from the default.
enum RegistryOption: String {
    case identity
    case method
    /// The body in base64.
    case body
    /// The path of the file with the body.
    case bodyFile
    case repeatable
    case decode
    case publicAddress
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
    /// The name and the value of each header field, alternating.
    case headers
    /// The names of the header fields whose values are not saved.
    case withheld
    /// Whether the URL had a user or password; neither is saved.
    case withheldUser
    case group
    case rateLimit
    case connectTimeout
    case stallTimeout
    case retries
    case title
    /// The keys and values of the request's `userInfo`, alternating.
    case info
    /// The request's `userData` in base64.
    case data
    case priority
    case notBefore
    case paused
    case network
    /// The short number by which users refer to the download.
    case number
    /// The time at which the download was added, in milliseconds since 1970.
    case added
    /// The time of the last start, in milliseconds since 1970.
    case started
    /// The time of the end, in milliseconds since 1970.
    case ended
    case background
    case state
}
