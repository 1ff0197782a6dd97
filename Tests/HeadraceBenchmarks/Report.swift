/// The result of one scene.
struct SceneResult: Sendable {
    let scene: Scene
    var entries: [Entry]
    /// The reason why the scene did not run.
    let skipped: String?
    /// The commands as text, in the order of `entries`.
    var commands: [String?] = []

    /// One contender's result in the scene.
    struct Entry: Sendable {
        let contender: Contender
        let command: Command?
        var skipped: String?
        var failure: String?
        var samples: [Measurement] = []
    }

    var verdicts: [Target.Verdict] {
        let subject = entries.first(where: \.contender.isSubject)?.samples ?? []
        let peers = entries.filter { !$0.contender.isSubject }.map { ($0.contender.name, $0.samples) }
        return scene.targets.map { $0.verdict(subject: subject, peers: Dictionary(uniqueKeysWithValues: peers)) }
    }

    /// Returns the lowest median among the peers, with which the subject is compared.
    func best(_ metric: Metric) -> Double? {
        entries.filter { !$0.contender.isSubject }.compactMap { metric.median(of: $0.samples) }.min()
    }
}

/// The result of a comparison, to be printed as text or as JSON.
struct Report: VerbReport, Sendable {
    let server: String
    let rounds: Int
    let directory: String
    let contenders: [Contender]
    let missingPeers: [String]
    let scenes: [SceneResult]

    /// Everything that makes the run a failure, regardless of the timings.
    var violations: [String] {
        scenes.flatMap { result in
            result.entries.compactMap { entry in
                entry.failure.map { "\(result.scene.name): \(entry.contender.name): \($0)" }
            }
        }
    }

    var hasUnmetTarget: Bool {
        scenes.contains { $0.skipped == nil && $0.verdicts.contains { $0.isMet == false } }
    }
}
