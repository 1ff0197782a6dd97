/// A bound for the subject's median.
///
/// Timings are evidence, not tests: an unmet target is reported, and fails the run only with `--strict`.
struct Target: Sendable {
    let metric: Metric
    let bound: Bound

    enum Bound: Sendable {
        /// At most this multiple of the named peer's median.
        case ratio(Double, to: String)
        /// At most this multiple of the lowest median among the peers.
        case ratioToBest(Double)
        /// At most this number of bytes or seconds, regardless of the peers.
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

    /// Compares the medians; the verdict has no data if the subject or the peer has no result.
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

    /// The result of checking a target.
    struct Verdict: Sendable {
        let target: Target
        let measured: String?
        /// `nil` if there was no data.
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
