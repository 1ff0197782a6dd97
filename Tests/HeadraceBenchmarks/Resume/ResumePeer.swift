/// A program that can resume a download, and its command line.
struct ResumePeer: Sendable {
    /// The parameters of one run.
    struct Run: Sendable {
        let url: String
        let directory: String
        let isResumed: Bool

        var file: String { directory + "/" + ResumeServer.fileName }
    }

    /// The title of its column.
    let name: String
    let executable: String
    /// Returns the arguments, without automatic retries: only the effect of one response is of interest.
    let arguments: @Sendable (Run) -> [String]

    static let subject = ResumePeer(name: "headrace", executable: Contender.subjectName) { run in
        ["get", "-q", "--json", "--retries", "0", "-d", run.directory, "-o", ResumeServer.fileName, run.url]
    }

    static let all: [ResumePeer] = [
        ResumePeer(name: "curl", executable: "curl") { run in
            ["-q", "-sSf"] + (run.isResumed ? ["-C", "-"] : []) + ["-o", run.file, run.url]
        },
        ResumePeer(name: "wget", executable: "wget") { run in
            ["--no-config", "-nv", "-t", "1"] + (run.isResumed ? ["-c"] : []) + ["-P", run.directory, run.url]
        },
        ResumePeer(name: "wget2", executable: "wget2") { run in
            ["--no-config", "--tries=1"] + (run.isResumed ? ["-c"] : []) + ["-P", run.directory, run.url]
        },
        aria2(connections: 1),
        aria2(connections: 4),
        ResumePeer(name: "lftp", executable: "lftp") { run in
            let get = "get \(run.isResumed ? "-c " : "")\(run.url) -o \(run.file)"
            return ["--norc", "-c", "set net:max-retries 1; set net:timeout 10; \(get)"]
        },
    ]

    private static func aria2(connections: Int) -> ResumePeer {
        ResumePeer(name: "aria2 -x\(connections)", executable: "aria2c") { run in
            ["--no-conf=true", "-q", "-m1", "-x\(connections)", "-s\(connections)", "-k1M", "--file-allocation=none"]
                + (run.isResumed ? ["-c"] : []) + ["-d", run.directory, "-o", ResumeServer.fileName, run.url]
        }
    }
}
