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
        case (.resume, .finished(let file)) where !Files.exists(file.plainPath):
            self.init("finished, but the file is missing; will download again", true)
        case (.pause, _): self.init("\(state.kind.rawValue); nothing to pause", false)
        case (.resume, _): self.init("\(state.kind.rawValue); nothing to resume", false)
        case (.retry, _): self.init("\(state.kind.rawValue); nothing to retry", false)
        case (.cancel, _): self.init("\(state.kind.rawValue); nothing to cancel", false)
        }
    }

    /// Creates the note for an ended download that is not restarted because `other`, which has not ended, writes to the
    /// same file.
    private init(conflicting other: DownloadSnapshot) {
        self.init("\(other.shownNumber ?? other.id.description) downloads the same file; use that one instead", false)
    }

    private init(_ text: String, _ isDone: Bool) {
        self.text = text
        self.isDone = isDone
    }

    /// Returns the line that summarizes a command; `nil` if the command changed none of the downloads.
    static func summary(
        of command: DownloadRegistry.Command,
        on ids: [Download.ID],
        of queue: [DownloadSnapshot]
    ) -> String? {
        let changed = notes(on: command, to: ids, of: queue).filter { $0.note?.isDone != false }
        guard let first = changed.first else { return nil }
        let what = changed.count == 1 ? first.download.numberedName : "\(changed.count) downloads"
        return "headrace: \(command.participle) \(what)".printable
    }

    /// Returns the notes on a command's effect on these downloads of the queue; equal notes are merged into one line.
    ///
    /// Unchanged downloads are reported only if the user named each download (`areNamed`), or if the command changed
    /// none at all.
    static func lines(
        on command: DownloadRegistry.Command,
        to ids: [Download.ID],
        of queue: [DownloadSnapshot],
        areNamed: Bool
    ) -> [String] {
        guard !ids.isEmpty else { return ["headrace: no download in the queue matches; nothing was changed"] }
        let notes = notes(on: command, to: ids, of: queue)
        let reportsAll = areNamed || notes.allSatisfy { $0.note?.isDone == false }
        var names: [(note: QueueCommandNote, names: [String])] = []
        for (download, note) in notes {
            guard let note, note.isDone || reportsAll else { continue }
            if let known = names.firstIndex(where: { $0.note == note }) {
                names[known].names.append(download.numberedName)
            } else {
                names.append((note, [download.numberedName]))
            }
        }
        return names.map { note, names in
            let subject = names.count == 1 ? names[0] : "\(names.count) downloads"
            return "headrace: \(subject): \(note.text)".printable
        }
    }

    private static func notes(
        on command: DownloadRegistry.Command,
        to ids: [Download.ID],
        of queue: [DownloadSnapshot]
    ) -> [(download: DownloadSnapshot, note: QueueCommandNote?)] {
        let chosen = Set(ids)
        let open = command.affectsFinished ? queue.filter { !$0.state.isEnded } : []
        let conflicts = Dictionary(open.map { ($0.partialFile, $0) }) { first, _ in first }
        return queue.filter { chosen.contains($0.id) }.map { download in
            let conflict = conflicts.isEmpty || !download.state.isEnded ? nil : conflicts[download.partialFile]
            let note = conflict.map(QueueCommandNote.init(conflicting:))
            return (download, note ?? QueueCommandNote(command, to: download.state))
        }
    }
}

extension DownloadRegistry.Command {
    fileprivate var participle: String {
        switch self {
        case .pause: "paused"
        case .resume: "resumed"
        case .retry: "retried"
        case .cancel: "cancelled"
        case .remove: "removed"
        case .move: "moved"
        case .setPriority: "changed the priority of"
        case .setURL: "changed the URL of"
        }
    }

    fileprivate var affectsFinished: Bool {
        switch self {
        case .resume, .retry: true
        case .pause, .cancel, .remove, .move, .setPriority, .setURL: false
        }
    }
}
