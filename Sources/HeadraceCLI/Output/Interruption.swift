import Headrace

/// The state that an interrupted run leaves for the next one.
struct Interruption: Sendable, Equatable {
    /// The partial files that the same command resumes, unless ``isResumeDisabled``.
    var partialFiles: [String] = []
    /// Whether the command has `--no-resume`, and would ignore the partial files.
    var isResumeDisabled = false
    /// The names of downloads that cannot be resumed, for lack of a validator.
    var restarting: [String] = []
    /// The way in which the same command treats finished files; `nil` if it skips them, or if there are none.
    var finished: Rerun?

    /// The way in which the same command, run again, treats a finished file.
    enum Rerun: Sendable, Equatable {
        /// Revalidates the file with the server; without a validator, downloads the file again.
        case checks
        case downloads
    }

    var message: String {
        var sentences = ["headrace: interrupted", "Run the same command again to continue."]
        if !partialFiles.isEmpty {
            sentences[0] += "; the received bytes are saved in \(Self.names(partialFiles))"
            if isResumeDisabled { sentences[1] = "Run the same command without --no-resume to continue." }
        }
        sentences[0] += "."
        if !restarting.isEmpty {
            let owner = restarting.count == 1 ? "its server" : "their servers"
            sentences.append(
                "\(Self.names(restarting)) will start over, because \(owner) sent no ETag or Last-Modified date."
            )
        }
        switch finished {
        case nil: break
        case .checks:
            sentences.append(
                "Finished files are not downloaded again if the server sent an ETag or Last-Modified date; to skip all of "
                    + "them, add --if-exists skip."
            )
        case .downloads: sentences.append("To skip finished files, use --if-exists skip.")
        }
        return sentences.joined(separator: " ").printable
    }

    private static func names(_ all: [String]) -> String {
        all.prefix(3).joined(separator: ", ") + (all.count > 3 ? " and \(all.count - 3) more" : "")
    }
}
