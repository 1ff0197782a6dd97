extension DownloadEvent {
    /// A condition that a user may want to know about, although the download continues.
    ///
    ///     for await event in download.events {
    ///         if case .notice(let notice) = event { print(notice) }
    ///     }
    public enum Notice: Sendable, Equatable {
        /// The expiry time of the link has passed, and the link provider supplied a new link.
        ///
        /// If a server rejects a link, ``DownloadEvent/sourceFailed(_:next:)`` reports the new one instead.
        case linkRenewed
        /// The expiry time of the link has passed, but the link provider failed, so the old link is used.
        case linkNotRenewed(reason: String)
        /// The existing file was downloaded with another login, token, client certificate or other cookies, so it is
        /// downloaded again.
        case otherLogin
        /// The given number of received bytes was missing from the disk when the download resumed.
        case bytesLost(Int64)
        /// Another program truncated the partial file, or the disk lost a part of it, while it was being downloaded.
        case fileTruncated(path: String, bytesLost: Int64)
        /// The received bytes, or the record of some of them, could not be saved, so a later run must receive them
        /// again.
        case notSaved(DownloadError)
        /// The server sends the whole file if a request has `If-Range`, so requests no longer contain that field.
        case omitsIfRange
        /// The server sent more than the requested range, such as the whole file: the given number of bytes was already
        /// received. These are kept, and the repeated ones are ignored.
        case rangeIgnored(Int64)
        /// The server sent a 304 response for a version other than the existing file's; requests become unconditional.
        case omitsPrecondition
        /// The server encoded the file although no content coding was requested; it is saved encoded.
        case encoded(coding: String)
        /// A proxy changed the file in transit (status 203; RFC 9110, section 15.3.4).
        case transformed
        /// The host sent `Retry-After` for another file, so this download waits for the given time as well.
        case waitingForHost(Duration)
        /// The host has received its maximum number of retries (``RetryPolicy/maxRetriesPerHostAndMinute``), so this
        /// download waits for the given time.
        case waitingForRetryLimit(Duration)
        /// The process has too many open files, so the download waits until another download finishes.
        case waitingForDescriptors(DownloadError)
        /// A background session does not support a setting of the manager or the request.
        case unsupportedInBackground(BackgroundLimitation)
    }

    /// A setting that a background session ignores, because the system sends its requests.
    public enum BackgroundLimitation: Sendable, Hashable, CaseIterable {
        /// Each file is downloaded over a single connection, even if the settings allow several.
        case severalConnections
        /// Rate limits and rate schedules are ignored.
        case rateLimits
        /// The minimum speed is ignored.
        case minimumSpeed
        /// Credentials, netrc files and cookies are ignored.
        case credentials
        /// The refetch policy is ignored: the file is downloaded again even if it has not changed.
        case refetchPolicy
    }
}

extension DownloadEvent.Notice: CustomStringConvertible {
    /// The notice as a sentence for the user.
    public var description: String {
        switch self {
        case .linkRenewed: "The link has expired; a new one is used."
        case .linkNotRenewed(let reason): "The link has expired, and no new one could be obtained: \(reason)"
        case .otherLogin: "The existing file was downloaded with another login; it is downloaded again for this one."
        case .bytesLost(let bytes):
            "\(bytes.inBytes) of the received bytes are no longer on the disk and are downloaded again."
        case .fileTruncated(let path, let bytes):
            "Another program truncated \(path), or the disk lost a part of it: \(bytes.inBytes) are downloaded again."
        case .notSaved(let error): error.message
        case .omitsIfRange: "The server sends the whole file if a request has If-Range; it is omitted from now on."
        case .rangeIgnored(let bytes):
            "The server sent more than the requested range: \(bytes.inBytes) are received again and ignored."
        case .omitsPrecondition: "The server sent \"not modified\" for another version; the condition is omitted."
        case .encoded(let coding): "The server encoded the file as \(coding); it is saved encoded."
        case .transformed: "A proxy changed the file in transit; it is saved as changed."
        case .waitingForHost(let wait):
            "The host asked for a wait of \(wait.inSeconds), which also applies to its other files."
        case .waitingForRetryLimit(let wait):
            "The retry waits for another \(wait.inSeconds), because too many downloads from the host are being retried."
        case .waitingForDescriptors(let error): "\(error.message) Another download must finish first."
        case .unsupportedInBackground(let limitation): limitation.description
        }
    }
}

extension DownloadEvent.BackgroundLimitation: CustomStringConvertible {
    /// The limitation as a sentence for the user.
    public var description: String {
        switch self {
        case .severalConnections: "A background session downloads each file over a single connection."
        case .rateLimits: "A background session does not support rate limits."
        case .minimumSpeed:
            "A background session has no minimum speed: the system decides how long it waits for a slow server."
        case .credentials:
            "A background session sends no credentials or cookies: the app may not be running to supply them."
        case .refetchPolicy:
            "A background session does not check whether the file has changed, and downloads it again."
        }
    }
}
