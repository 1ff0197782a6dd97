/// A bound that the subject's median is held to.
///
/// A timing is evidence, not a test: an unmet target is shown, and fails the run only with `--strict`.
struct Target: Sendable {
    let metric: Metric
    let bound: Bound

    enum Bound: Sendable {
        /// At most that many times the median of the named peer.
        case ratio(Double, to: String)
        /// At most that many times the lowest median of all peers.
        case ratioToBest(Double)
        /// At most that many bytes or seconds, whoever else runs.
        case atMost(Double)
    }

    init(_ metric: Metric, _ bound: Bound) {
        self.metric = metric
        self.bound = bound
    }

    var description: String {
        switch bound {
        case .ratio(let limit, let peer): "\(metric.rawValue) <= \(Format.ratio(limit)) \(peer)"
        case .ratioToBest(let limit): "\(metric.rawValue) <= \(Format.ratio(limit)) the best peer"
        case .atMost(let limit): "\(metric.rawValue) <= \(metric.text(limit))"
        }
    }

    /// Judges the medians; not judged where the subject or the peer has no result.
    func verdict(subject: [Measurement], peers: [String: [Measurement]]) -> Verdict {
        guard let measured = metric.median(of: subject) else {
            return Verdict(target: self, measured: nil, isMet: nil)
        }
        switch bound {
        case .atMost(let limit):
            return Verdict(target: self, measured: metric.text(measured), isMet: measured <= limit)
        case .ratio(let limit, let peer):
            return verdict(measured, against: peers[peer].flatMap(metric.median(of:)), limit)
        case .ratioToBest(let limit):
            return verdict(measured, against: peers.values.compactMap(metric.median(of:)).min(), limit)
        }
    }

    private func verdict(_ measured: Double, against other: Double?, _ limit: Double) -> Verdict {
        guard let other, other > 0 else { return Verdict(target: self, measured: nil, isMet: nil) }
        return Verdict(target: self, measured: Format.ratio(measured / other), isMet: measured / other <= limit)
    }

    /// How a target came out.
    struct Verdict: Sendable {
        let target: Target
        let measured: String?
        /// `nil` when there was nothing to judge.
        let isMet: Bool?

        var description: String {
            switch isMet {
            case true?: "met      \(target.description): \(measured ?? "")"
            case false?: "NOT MET  \(target.description): \(measured ?? "")"
            case nil: "no data  \(target.description)"
            }
        }
    }
}
