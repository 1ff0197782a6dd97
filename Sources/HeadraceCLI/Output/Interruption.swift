import Headrace

/// What a signal stopped, and what the tool says of it.
struct Interruption: Sendable {
    let signal: Int32
    /// The downloads that it stopped; none where all was done.
    let downloads: [Download]
    /// Whether any others have come to their end.
    let hasFinished: Bool

    /// What is to be said to who may want to go on.
    struct Rest: Sendable, Equatable {
        /// The partial files that the same command goes on with.
        var kept: [String] = []
        /// Whether the same command begins again all the same, since it says so.
        var isAbandoned = false
        /// The names of those that begin again, since nothing could prove what came of them.
        var lost: [String] = []
        /// What becomes of the files that are finished when the same command runs again; nil where there are none.
        var finished: Again?
    }

    /// What the same command does with a file that is finished.
    enum Again: Sendable, Equatable {
        /// Asks whether it has changed, and fetches it again where its server tells no version.
        case asks
        case fetches
        case skips
    }
}

extension Interruption.Rest {
    /// What is said of it.
    var message: String {
        var sentences = ["headrace: interrupted", "Run the same command again to go on."]
        if isAbandoned, !kept.isEmpty { sentences[1] = "Without --no-resume, the same command goes on." }
        if !kept.isEmpty { sentences[0] += "; what came is kept in \(Self.names(kept))" }
        sentences[0] += "."
        if !lost.isEmpty {
            let (verb, whose) = lost.count == 1 ? ("begins", "its server tells") : ("begin", "their servers tell")
            sentences.append("\(Self.names(lost)) \(verb) again, since \(whose) no version.")
        }
        switch finished {
        case nil, .skips: break
        case .asks:
            sentences.append(
                "What is finished stays, if its server tells the version; with --if-exists skip in any case."
            )
        case .fetches: sentences.append("With --if-exists skip what is finished is not fetched again.")
        }
        return sentences.joined(separator: " ").printable
    }

    private static func names(_ all: [String]) -> String {
        all.prefix(3).joined(separator: ", ") + (all.count > 3 ? " and \(all.count - 3) more" : "")
    }
}
