import Headrace

/// The choices of a seed for a whole simulation.
struct SimulationPlan {
    enum End: Equatable {
        case shutdown
        case crash(Crash)
    }

    /// The number of managers before the last one.
    let lives: Int
    let limit: Int
    let hostLimit: Int
    let connections: Int?
    let failures: Int
    let mostVerbs: Int
    let mostChanges: Int
    /// The number of disk changes in a thousand that fail.
    let diskFailures: Int
    let durability: DownloadConfiguration.Durability
    /// Whether another process sends commands.
    let commands: Bool
    /// Whether the manager looks for commands all the time.
    let serves: Bool
    /// The ways in which the managers before the last one may end.
    let ends: [End]
    let hasChecksums: Bool
    let hasMirrors: Bool
    /// Whether the network goes away and comes back.
    let losesNetwork: Bool
    /// Whether downloads get new URLs of their files.
    let hasFreshLinks: Bool

    /// - Parameters:
    ///   - random: Makes the choices.
    ///   - extra: Makes later choices, so that those of `random` stay the same.
    init(using random: inout SeededRandom, _ extra: inout SeededRandom) {
        lives = Int.random(in: 1...4, using: &random)
        limit = Int.random(in: 1...4, using: &random)
        hostLimit = Int.random(in: limit...8, using: &random)
        connections = [1, 1, 3, nil].randomElement(using: &random) ?? 1
        failures = Int.random(in: 0...5, using: &random)
        mostVerbs = [5, 15, 40].randomElement(using: &random) ?? 5
        mostChanges = [20, 200, 1000].randomElement(using: &random) ?? 20
        diskFailures = [0, 0, 0, 5, 50].randomElement(using: &random) ?? 0
        durability = Int.random(in: 0..<4, using: &random) == 0 ? .none : .full
        commands = Bool.random(using: &random)
        serves = commands && Bool.random(using: &random)
        // Without syncs, a power cut may damage even finished files.
        let crashes = durability == .full ? Crash.allCases : [.kill]
        ends = Bool.random(using: &random) ? [.shutdown] : [.shutdown] + crashes.map(End.crash)
        hasChecksums = Int.random(in: 0..<3, using: &extra) == 0
        hasMirrors = Int.random(in: 0..<3, using: &extra) == 0
        losesNetwork = Int.random(in: 0..<3, using: &extra) == 0
        hasFreshLinks = Int.random(in: 0..<3, using: &extra) == 0
    }
}
