/// A program with the options that it downloads with over a line.
struct LineContender: Sendable {
    let contender: Contender
    let variant: LineVariant
    /// Further arguments of the subject.
    var arguments: [String] = []

    var name: String {
        ([contender.name] + [variant.label].filter { !$0.isEmpty } + arguments).joined(separator: " ")
    }

    /// Whether the program decides itself how much it does at once.
    var isDefault: Bool { variant.isDefault && arguments.isEmpty }

    func command(for job: Job) -> Command? {
        guard case .run(let planned, let environment) = contender.plan(variant.applied(to: job)) else { return nil }
        // The subject's first argument is its verb.
        let words = planned.prefix(1) + arguments + planned.dropFirst()
        return Command(executable: contender.executable, arguments: Array(words), environment: environment)
    }
}

/// The options of a program: how much it does at once.
struct LineVariant: Sendable, Equatable {
    /// The options as a user would write them; empty for the defaults.
    var label = ""
    /// The number of files at once; `nil` for the program's default.
    var parallel: Int?
    var connections = Scene.Connections.automatic

    var isDefault: Bool { parallel == nil && (connections == .automatic || connections == .one) }

    func applied(to job: Job) -> Job {
        var job = job
        job.connections = connections
        if case .many(let count, let each, _) = job.payload {
            job.payload = .many(count: count, each: each, parallel: parallel)
        }
        return job
    }

    /// Returns the variants of a program, with its defaults first; none if it is not suited to the work.
    static func all(of program: String, for work: LineScene.Work) -> [LineVariant] {
        switch (program, work) {
        case (Contender.subjectName, .small):
            [LineVariant(), LineVariant(label: "-j 16", parallel: 16), LineVariant(label: "-j 64", parallel: 64)]
        case (Contender.subjectName, .large):
            [
                LineVariant(), LineVariant(label: "-x 4", connections: .count(4)),
                LineVariant(label: "-x 16", connections: .count(16)),
            ]
        case ("curl", .small): [LineVariant(label: "-Z"), LineVariant(label: "-Z --parallel-max 16", parallel: 16)]
        case ("curl", .large): [LineVariant(connections: .one)]
        case ("aria2c", .small):
            [LineVariant(), LineVariant(label: "-x16 -j16", parallel: 16, connections: .count(16))]
        case ("aria2c", .large): [LineVariant(), LineVariant(label: "-x16 -s16 -k1M", connections: .count(16))]
        case ("wget2", .small): [LineVariant(), LineVariant(label: "--max-threads=16", parallel: 16)]
        // Its parts of a file are slower than one connection.
        case ("wget2", .large): [LineVariant()]
        case ("axel", .large): [LineVariant(), LineVariant(label: "-n 16", connections: .count(16))]
        default: []
        }
    }
}
