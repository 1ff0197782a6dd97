import Headrace
import HeadracePlatform

/// A message about downloads that a command does not change, or changes in an unexpected way.
struct QueueCommandNote: Sendable, Hashable {
    let text: String
    let isDone: Bool

    /// Creates the note for a download in this state; returns `nil` if the command has its usual effect on it.
    init?(_ command: DownloadRegistry.Command, to state: DownloadState) {
        switch (command, state) {
        case (.pause, .waiting), (.pause, .running), (.retry, .failed), (.remove, _), (.move, _), (.setPriority, _),
            (.setURL, _), (.resume, .paused), (.resume, .failed), (.resume, .waiting),
            (.cancel, .waiting), (.cancel, .running), (.cancel, .paused), (.cancel, .failed):
            return nil
        case (.resume, .cancelled): self.init("was cancelled; will download again from the beginning", true)
        case (.resume, .finished(let file)) where Files.isMissing(file.plainPath):
            self.init("finished, but the file is missing; will download again", true)
        case (.pause, _), (.resume, _), (.retry, _), (.cancel, _):
            self.init("\(state.kind.rawValue); nothing to \(command.words.verb)", false)
        }
    }

    /// Creates the note for an ended download that is not restarted because `other`, which has not ended, writes to the
    /// same file.
    fileprivate init(conflicting other: DownloadSnapshot) {
        self.init("\(other.shownNumber ?? other.id.description) downloads the same file; use that one instead", false)
    }

    private init(_ text: String, _ isDone: Bool) {
        self.text = text
        self.isDone = isDone
    }
}

/// The messages about a command on downloads of the queue, from their states before the command.
struct QueueCommandReport: Sendable {
    let downloads: [DownloadSnapshot]
    /// The notes on downloads, with equal ones merged into one line; without downloads, one line that says so.
    let notes: [String]
    /// The line that summarizes the command; `nil` if it changes none of the downloads.
    let summary: String?

    /// Creates the report; unchanged downloads have notes only if the user named each download (`areNamed`), or if the
    /// command changes none at all.
    init(_ command: DownloadRegistry.Command, to ids: [Download.ID], of queue: [DownloadSnapshot], areNamed: Bool) {
        let chosen = Set(ids)
        downloads = queue.filter { chosen.contains($0.id) }
        let open = command.affectsEnded ? queue.filter { !$0.state.isEnded } : []
        let conflicts = Dictionary(open.map { ($0.partialFile, $0) }) { first, _ in first }
        let effects = downloads.map { download in
            let conflict = conflicts.isEmpty || !download.state.isEnded ? nil : conflicts[download.partialFile]
            let note = conflict.map(QueueCommandNote.init(conflicting:))
            return (name: download.numberedName, note: note ?? QueueCommandNote(command, to: download.state))
        }
        let changed = effects.filter { $0.note?.isDone != false }.map(\.name)
        let what = changed.count == 1 ? changed[0] : "\(changed.count) downloads"
        summary = changed.isEmpty ? nil : "headrace: \(command.words.participle) \(what)".printable
        var groups: [(note: QueueCommandNote, names: [String])] = []
        for (name, note) in effects {
            guard let note, note.isDone || areNamed || changed.isEmpty else { continue }
            if let known = groups.firstIndex(where: { $0.note == note }) {
                groups[known].names.append(name)
            } else {
                groups.append((note, [name]))
            }
        }
        let lines = groups.map { note, names in
            "headrace: \(names.count == 1 ? names[0] : "\(names.count) downloads"): \(note.text)".printable
        }
        notes = downloads.isEmpty ? ["headrace: no download in the queue matches; nothing was changed"] : lines
    }
}

extension DownloadRegistry.Command {
    fileprivate var words: (verb: String, participle: String) {
        switch self {
        case .pause: ("pause", "paused")
        case .resume: ("resume", "resumed")
        case .retry: ("retry", "retried")
        case .cancel: ("cancel", "cancelled")
        case .remove: ("remove", "removed")
        case .move: ("move", "moved")
        case .setPriority: ("change the priority of", "changed the priority of")
        case .setURL: ("change the URL of", "changed the URL of")
        }
    }

    /// Whether the command restarts ended downloads.
    fileprivate var affectsEnded: Bool {
        switch self {
        case .resume, .retry: true
        default: false
        }
    }
}
