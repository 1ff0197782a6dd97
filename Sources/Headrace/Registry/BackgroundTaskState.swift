/// What a list keeps of a download that was given to the system, so that the next process knows what to expect.
enum BackgroundTaskState: Sendable, Hashable {
    /// The system has, or had, a task for it that began at zero.
    case started
    /// The system stopped, and gave this to go on with.
    case resumable(ResumeData)
}

/// What the system gives of a stopped download, to go on with: opaque, of use to this app on this device alone.
struct ResumeData: Sendable, Hashable {
    /// It is a few KiB; what is larger is something else, and not for a list.
    static let maxBytes = 128 << 10
    /// In milliseconds a week, which is how long the system itself goes on with a download (`timeoutIntervalForResource`).
    static let maxAge: Int64 = 7 * 24 * 60 * 60 * 1000

    let bytes: [UInt8]
    /// When the system gave it, in milliseconds since 1970.
    let time: Int64

    /// Why it cannot be used at a time; nil where it can be tried.
    func problem(at now: Int64) -> BackgroundRestart? {
        guard !bytes.isEmpty, bytes.count <= Self.maxBytes else { return .resumeDataInvalid }
        // A clock that was set back proves no age.
        return now.subtractingReportingOverflow(time).partialValue > Self.maxAge ? .resumeDataTooOld : nil
    }
}

/// Why a background download starts again at zero.
enum BackgroundRestart: Sendable, Hashable {
    case noResumeData
    case resumeDataInvalid
    case resumeDataTooOld
    case resumeDataRefused
    case taskLost
    case filePurged
    case otherBytesHeld

    /// The reason as one sentence for a person.
    var sentence: String {
        switch self {
        case .noResumeData: "The system stopped the download and gave nothing to go on with."
        case .resumeDataInvalid: "What the system gave to go on with is damaged."
        case .resumeDataTooOld: "What the system gave to go on with is more than a week old."
        case .resumeDataRefused: "The system cannot go on with what it gave, perhaps since it removed the bytes."
        case .taskLost: "The system has the download no more, and gave nothing to go on with."
        case .filePurged: "The system removed the file before it could be taken over."
        case .otherBytesHeld: "A background session cannot go on with bytes that it has not fetched itself."
        }
    }
}
