/// What the tool says after a signal.
///
/// The one place that tells how to go on.
enum Interruption {
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
