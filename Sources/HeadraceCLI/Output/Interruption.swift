import Headrace

/// What a signal stopped, and what the tool says of it.
struct Interruption: Sendable {
    let signal: Int32
    /// The downloads that it stopped; none where all was done.
    let downloads: [Download]

    /// `kept` are the partial files, which the same command finds again.
    static func message(kept: [String]) -> String {
        let advice = "Run the same command again to go on."
        switch kept.count {
        case 0: return "headrace: interrupted. \(advice)"
        case 1: return "headrace: interrupted; what came is kept in \(kept[0]). \(advice)".printable
        default:
            let more = kept.count > 3 ? " and \(kept.count - 3) more" : ""
            let names = kept.prefix(3).joined(separator: ", ") + more
            return "headrace: interrupted; what came is kept in \(names). \(advice)".printable
        }
    }
}
