/// The saved state of a system background task, from which the next process continues the download.
enum BackgroundTaskState: Sendable, Hashable {
    /// The system was given a task that downloads the file from its first byte; there is no resume data.
    case started
    /// The system stopped the task and returned data to resume it.
    case resumable(ResumeData)
}

/// The system's resume data for a stopped download: opaque, and only usable by this app on this device.
struct ResumeData: Sendable, Hashable {
    /// The maximum size of resume data, which usually has a few KiB; larger data is invalid and is not used.
    static let maxBytes = 128 << 10
    /// The maximum age of resume data in milliseconds: a week, the system's own time limit for a download
    /// (`timeoutIntervalForResource`).
    static let maxAge: Int64 = 7 * 24 * 60 * 60 * 1000

    let bytes: [UInt8]
    /// The time at which the system returned the data, in milliseconds since 1970.
    let time: Int64

    /// Returns the reason why the data cannot be used at the given time; `nil` if it may be used.
    func problem(at now: Int64) -> RestartReason? {
        guard !bytes.isEmpty, bytes.count <= Self.maxBytes else { return .resumeDataInvalid }
        // If the clock was set back, the age is unknown and may be negative; the data is then used.
        return now.subtractingReportingOverflow(time).partialValue > Self.maxAge ? .resumeDataTooOld : nil
    }
}
