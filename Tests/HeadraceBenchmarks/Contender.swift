/// A program in the comparison: the subject or one of its peers.
struct Contender: Sendable {
    let name: String
    let executable: String
    /// The first line of its version output.
    let version: String
    let isSubject: Bool
    /// Returns the command line for a job, or the reason to skip it.
    let plan: @Sendable (Job) -> Plan

    enum Plan: Sendable {
        case run([String], environment: [String: String] = [:])
        case skip(String)
    }
}

/// The files that a scene requests from a contender.
struct Job: Sendable {
    var payload: Scene.Payload
    var connections: Scene.Connections
    /// The URL of the single file.
    let url: String
    /// The destination of the single file.
    let file: String
    /// The destination directory of many files.
    let directory: String
    /// A file with one URL per line.
    let list: String
    /// The same URLs as curl options, because curl cannot read a list.
    let curlConfiguration: String
    /// The certificate to trust, if the scene uses TLS.
    let authority: String?
}

/// A program that may be installed on this machine.
struct Peer: Sendable {
    let name: String
    let plan: @Sendable (Job) -> Contender.Plan

    /// All known peers, in the order of the tables.
    static let all: [Peer] = [curl, wget, aria2, axel]

    static let curl = Peer(name: "curl") { job in
        let trust = job.authority.map { ["--cacert", $0] } ?? []
        switch job.payload {
        case .single:
            return .run(["-q", "-sSf"] + trust + ["-o", job.file, job.url])
        case .many(_, _, let parallel):
            let limit = parallel.map { ["--parallel-max", "\($0)"] } ?? []
            return .run(["-q", "-sSf", "-Z"] + limit + trust + ["-K", job.curlConfiguration])
        }
    }

    /// wget has no parallel mode: it fetches many files in sequence on one persistent connection.
    static let wget = Peer(name: "wget") { job in
        let trust = job.authority.map { ["--ca-certificate=\($0)"] } ?? []
        guard job.connections == .one else { return .skip("has one connection per file") }
        switch job.payload {
        case .single: return .run(["--no-config", "-q"] + trust + ["-O", job.file, job.url])
        case .many: return .run(["--no-config", "-q"] + trust + ["-P", job.directory, "-i", job.list])
        }
    }

    static let aria2 = Peer(name: "aria2c") { job in
        let trust = job.authority.map { ["--ca-certificate=\($0)"] } ?? []
        let connections =
            switch job.connections {
            case .one: ["-x1", "-s1"]
            case .automatic: [String]()
            // By default each connection gets at least 20 MiB.
            case .count(let count): ["-x\(count)", "-s\(count)", "-k1M"]
            }
        let common =
            ["--no-conf=true", "-q", "--file-allocation=none", "--allow-overwrite=true"]
            + connections + trust + ["-d", job.directory]
        switch job.payload {
        case .single:
            return .run(common + ["-o", String(job.file.split(separator: "/").last ?? "x"), job.url])
        case .many(_, _, let parallel):
            return .run(common + (parallel.map { ["-j\($0)"] } ?? []) + ["-i", job.list])
        }
    }

    /// axel has no option to trust a certificate, but honours OpenSSL's variable.
    static let axel = Peer(name: "axel") { job in
        guard case .single = job.payload else { return .skip("downloads one file per run") }
        let trust = job.authority.map { ["SSL_CERT_FILE": $0] } ?? [:]
        let connections =
            switch job.connections {
            case .one: ["-n", "1"]
            case .automatic: [String]()
            case .count(let count): ["-n", "\(count)"]
            }
        return .run(["-q"] + connections + ["-o", job.file, job.url], environment: trust)
    }

    /// wget2 is only compared on lines, and with one connection per file.
    static let wget2 = Peer(name: "wget2") { job in
        let trust = job.authority.map { ["--ca-certificate=\($0)"] } ?? []
        switch job.payload {
        case .single:
            return .run(["--no-config", "-q"] + trust + ["-O", job.file, job.url])
        case .many(_, _, let parallel):
            let threads = parallel.map { ["--max-threads=\($0)"] } ?? []
            return .run(["--no-config", "-q"] + threads + trust + ["-P", job.directory, "-i", job.list])
        }
    }

    /// Returns the peer as a contender; `nil` if it is not installed.
    func contender(in workspace: Workspace) -> Contender? {
        guard let executable = FileSystem.find(name) else { return nil }
        return Contender(
            name: name,
            executable: executable,
            version: Version.of(executable, in: workspace),
            isSubject: false,
            plan: plan
        )
    }
}

extension Contender {
    static let subjectName = "headrace"

    /// Returns the program that is compared with the peers.
    static func subject(at executable: String, in workspace: Workspace) -> Contender {
        Contender(
            name: subjectName,
            executable: executable,
            version: Version.of(executable, in: workspace),
            isSubject: true
        ) { job in
            let trust = job.authority.map { ["--cacert", $0] } ?? []
            switch job.payload {
            case .single:
                let connections: [String] =
                    switch job.connections {
                    case .one: ["-x", "1"]
                    case .automatic: []
                    case .count(let count): ["-x", "\(count)"]
                    }
                return .run(["get", "-q"] + connections + trust + ["-o", job.file, job.url])
            case .many(_, _, let parallel):
                let jobs = parallel.map { ["-j", "\($0)"] } ?? []
                return .run(["get", "-q"] + jobs + trust + ["-d", job.directory, "-i", job.list])
            }
        }
    }
}

/// The version that a program reports.
enum Version {
    /// Returns the subject's name and version.
    static func ofSubject(_ executable: String, in workspace: Workspace) -> (String, String) {
        (Contender.subjectName, of(executable, in: workspace))
    }

    static func of(_ executable: String, flag: String = "--version", in workspace: Workspace) -> String {
        let log = workspace.scratch + "/version.log"
        let command = Command(executable: executable, arguments: [flag])
        guard
            let child = try? ChildProcess.spawn(command, home: workspace.home, log: log),
            let exit = try? child.wait(atMost: 10), exit.failure == nil,
            let line = FileSystem.text(of: log).split(separator: "\n").first
        else { return "version unknown" }
        return String(line)
    }
}
