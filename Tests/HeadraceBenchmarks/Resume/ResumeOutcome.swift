import HeadracePlatform

/// The result of one program in one case.
struct ResumeOutcome: Sendable {
    /// The file with the final name.
    enum File: Sendable, Equatable {
        case none
        /// Exactly one of the server's versions.
        case exact
        /// The beginning of one version.
        case half(Int)
        case page
        /// Bytes that match no version.
        case mixed(Int)
    }

    /// Whether the first run left bytes that can be resumed.
    var hadHalf = false
    /// The exit code as in a shell; `nil` if the program did not end.
    var status: Int32?
    var file = File.none
    /// Whether the bytes from before the cut still exist, in the final or in the partial file.
    var isKept = false
    /// The program's error message, if it is known.
    var message: String?

    /// Whether the program did it right: the exact file, or no file, a clear error and the old bytes retained.
    var isRight: Bool {
        guard hadHalf, let status else { return false }
        if status == 0 { return file == .exact }
        return file == .none && isKept && message?.isEmpty == false
    }

    var text: String {
        guard hadHalf else { return "no half" }
        guard let status else { return "hangs" }
        switch file {
        case .exact: return status == 0 ? "exact" : "exact rc\(status)"
        case .mixed: return "MIX rc\(status)"
        case .half where status == 0: return "half rc0"
        case .page where status == 0: return "page rc0"
        case .none where status == 0: return "no file rc0"
        case .half, .page, .none: return "rc\(status), \(isKept ? "kept" : "LOST")"
        }
    }

    var json: JSON {
        let (kind, bytes): (String, Int?) =
            switch file {
            case .none: ("none", nil)
            case .exact: ("exact", nil)
            case .half(let bytes): ("half", bytes)
            case .page: ("page", nil)
            case .mixed(let bytes): ("mixed", bytes)
            }
        return .object([
            ("outcome", .string(text)), ("status", status.map { .integer(Int($0)) } ?? .null),
            ("file", .string(kind)), ("bytes", bytes.map { .integer($0) } ?? .null), ("isKept", .bool(isKept)),
            ("message", .optional(message)),
        ])
    }
}

extension ResumeOutcome.File {
    /// Compares a file with the versions that the server had.
    init(at path: String, in situation: ResumeCase) throws {
        var status = stat()
        guard stat(path, &status) == 0 else {
            self = .none
            return
        }
        let size = Int(status.st_size)
        let equal = try situation.versions.map { version in
            guard size <= version.size else { return false }
            return try ContentCheck.firstDifference(in: path, 0..<size, from: version.content) == nil
        }
        if zip(situation.versions, equal).contains(where: { $0.size == size && $1 }) {
            self = .exact
        } else if equal.contains(true) {
            self = .half(size)
        } else if size == ResumeCase.loginPage.utf8.count, FileSystem.text(of: path) == ResumeCase.loginPage {
            self = .page
        } else {
            self = .mixed(size)
        }
    }
}
