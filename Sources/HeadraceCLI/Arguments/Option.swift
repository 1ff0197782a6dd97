import Headrace

/// An option of a command, by its long name.
enum Option: String, CaseIterable, Sendable {
    case output
    case directory
    case inputFile = "input-file"
    case jobs
    case connections
    case limitRate = "limit-rate"
    case limitPerHost = "limit-per-host"
    case checksum
    case checksumFile = "checksum-file"
    case header
    case mirror
    case metalink
    case retries
    case timeout
    case connectTimeout = "connect-timeout"
    case minSpeed = "min-speed"
    case timeLimit = "time-limit"
    case waitForNetwork = "wait-for-network"
    case ifExists = "if-exists"
    case ifChanged = "if-changed"
    case onMismatch = "on-mismatch"
    case noRemoteTime = "no-remote-time"
    case noResume = "no-resume"
    case sync
    case dryRun = "dry-run"
    case cacert
    case pinnedKey = "pinned-key"
    case cert
    case key
    case proxy
    case netrc
    case netrcFile = "netrc-file"
    case cookies
    case allowDowngrade = "allow-downgrade"
    case json
    case quiet
    case verbose
    case version
    case help
    case registry
    case title
    case group
    case priority
    case paused
    case begin
    case state
    case files
    case watch
    case network
    case background
    case ignoreMissing = "ignore-missing"
    case strict
    case followMetalink = "follow-metalink"

    /// Those on the way to the servers and on who goes it.
    static let ofNetwork: Set<Option> = [
        .cacert, .pinnedKey, .cert, .key, .proxy, .netrc, .netrcFile, .cookies,
    ]

    /// Those that mean nothing without a list on the disk.
    static let ofQueueOnly: Set<Option> = [
        .registry, .title, .group, .priority, .paused, .begin, .state, .files, .watch, .background,
    ]

    /// Those of files that are there.
    static let ofFilesOnly: Set<Option> = [.ignoreMissing, .strict]

    /// Those of the process that runs a list.
    static let ofQueueRun = ofNetwork.union([
        .jobs, .limitPerHost, .limitRate, .retries, .timeout, .connectTimeout, .minSpeed, .timeLimit, .waitForNetwork,
        .noResume, .noRemoteTime, .sync, .allowDowngrade, .watch, .registry, .json, .quiet, .verbose, .help,
    ])

    /// Whether its argument is the path of a file.
    var namesFile: Bool { Self.table.contains { $0.option == self && $0.completion == .file } }

    /// What the parser and the help text know of an option.
    struct Entry: Sendable {
        let option: Option
        var short: Character?
        /// The argument's name in the help text; nil for a switch.
        var argument: String?
        /// What the argument can be, where there is no more than a few.
        var words: [String] = []
        let help: String
    }

    static let table: [Entry] = [
        Entry(
            option: .output,
            short: "o",
            argument: "FILE",
            help: "name of the file, for one URL (default: the server's, else the URL's)"
        ),
        Entry(option: .directory, short: "d", argument: "DIR", help: "where files go, made if missing (default: .)"),
        Entry(option: .inputFile, short: "i", argument: "FILE", help: "read URLs from FILE, one a line; - for stdin"),
        Entry(option: .jobs, short: "j", argument: "N", help: "downloads at once (default: 4)"),
        Entry(option: .limitPerHost, argument: "N", help: "downloads from one host at once (default: no limit)"),
        Entry(
            option: .connections,
            short: "x",
            argument: "N",
            help: "connections for one download (default: automatic, up to 8)"
        ),
        Entry(
            option: .limitRate,
            argument: "RATE",
            help: "bytes per second over all: 500K, 1.5M, none, or 'Mon-Fri 08:00-18:00 1M, else none'"
        ),
        Entry(
            option: .checksum,
            argument: "ALG=HEX",
            help: "what the file must be; md5, sha1, sha256, sha384 or sha512; for one file; repeatable"
        ),
        Entry(
            option: .checksumFile,
            argument: "FILE",
            help: "what the files must be, by their names, as in SHA256SUMS; a file or a URL"
        ),
        Entry(option: .header, argument: "'NAME: VALUE'", help: "send this header field too; repeatable"),
        Entry(option: .mirror, argument: "URL", help: "another source of the file, for one URL; repeatable"),
        Entry(
            option: .metalink,
            argument: "FILE",
            help: "a Metalink 4 document: the files to fetch, or what they must be; repeatable"
        ),
        Entry(option: .ignoreMissing, help: "pass over files of a list or a document that are not there"),
        Entry(option: .strict, help: "fail if a line of --checksum-file is malformed, instead of warning"),
        Entry(option: .followMetalink, help: "fetch the files of the Metalink documents that are downloaded"),
        Entry(
            option: .retries,
            argument: "N",
            help: "failures in a row without progress (default: 5, or 1 until a host responds; 0 is none)"
        ),
        Entry(option: .timeout, argument: "SECONDS", help: "no bytes for so long is a stall (default: 30)"),
        Entry(option: .connectTimeout, argument: "SECONDS", help: "time to make a connection in (default: 15)"),
        Entry(option: .minSpeed, argument: "RATE", help: "slower for the time of --timeout is a stall, too"),
        Entry(option: .timeLimit, argument: "SECONDS", help: "end a download that takes longer; its bytes stay"),
        Entry(option: .waitForNetwork, help: "wait while there is no network, instead of spending retries"),
        Entry(
            option: .network,
            argument: "WHICH",
            words: DownloadRequest.NetworkPolicy.allCases.map(\.word),
            help: "wait for one that is not-expensive, not-constrained or wifi-or-wired (default: any)"
        ),
        Entry(
            option: .ifExists,
            argument: "WHAT",
            words: DownloadRequest.ConflictPolicy.allCases.map(\.rawValue),
            help: "rename, overwrite, skip or fail when another file exists (default: rename)"
        ),
        Entry(option: .ifChanged, help: "fetch a file that is there only if the server has another, and replace it"),
        Entry(
            option: .onMismatch,
            argument: "WHAT",
            words: DownloadRequest.MismatchPolicy.allCases.map(\.rawValue),
            help: "keep a file with a wrong checksum as NAME.mismatch, or delete it (default: keep)"
        ),
        Entry(option: .noRemoteTime, help: "do not give files the time of their last change on the server"),
        Entry(option: .noResume, help: "start at zero even if a part is there"),
        Entry(option: .dryRun, help: "ask for the files, tell their sizes and places, and fetch nothing"),
        Entry(option: .sync, help: "wait for the disk, so that files outlive a power cut"),
        Entry(option: .cacert, argument: "FILE", help: "trust the authorities in this PEM file, not the system's"),
        Entry(
            option: .pinnedKey,
            argument: "KEY",
            help: "a key that https servers may have, as sha256//BASE64; repeatable"
        ),
        Entry(option: .cert, argument: "FILE", help: "PEM file of a client certificate, for servers that ask"),
        Entry(option: .key, argument: "FILE", help: "PEM file of its private key (default: the same file)"),
        Entry(
            option: .proxy,
            argument: "URL",
            help: "an http, https, socks5 or socks5h proxy; '' for none (default: the environment's)"
        ),
        Entry(option: .netrc, help: "log in as ~/.netrc says"),
        Entry(option: .netrcFile, argument: "FILE", help: "log in as this file says"),
        Entry(option: .cookies, argument: "FILE", help: "send the cookies of this cookies.txt, and new ones"),
        Entry(option: .allowDowngrade, help: "follow redirects from https to http"),
        Entry(option: .watch, help: "wait for more when nothing is left to do, until a signal comes"),
        Entry(
            option: .background,
            help: "go on in the background, with a log beside the list; see queue status and stop"
        ),
        Entry(option: .title, argument: "TEXT", help: "what the list shows in place of the file's name"),
        Entry(option: .group, argument: "NAME", help: "the group they belong to"),
        Entry(
            option: .state,
            argument: "STATE",
            words: DownloadState.Kind.allCases.map(\.rawValue),
            help: "those that are \(QueueSelector.states)"
        ),
        Entry(
            option: .priority,
            argument: "LEVEL",
            words: ["low", "normal", "high"],
            help: "low, normal, high or a number: the greater, the sooner (default: normal)"
        ),
        Entry(option: .paused, help: "add them paused, for queue resume to start"),
        Entry(
            option: .begin,
            argument: "TIME",
            help: "not before this time: 2026-05-01T22:00, with Z or +02:00 where it is not local, or +1h30m"
        ),
        Entry(option: .files, help: "delete the files they have fetched as well, finished or not"),
        Entry(
            option: .registry,
            argument: "DIR",
            help: "where the list is kept (default: headrace in $XDG_STATE_HOME, else in ~/.local/state)"
        ),
        Entry(option: .json, help: "one JSON object a line on standard output"),
        Entry(option: .quiet, short: "q", help: "print errors only"),
        Entry(option: .verbose, short: "v", help: "print redirects and answers too"),
        Entry(option: .version, help: "print the version"),
        Entry(option: .help, short: "h", help: "print this help"),
    ]
}

extension [Option.Entry] {
    /// The entries of these options, in the order of the table.
    static func those(of options: Set<Option>) -> [Option.Entry] {
        Option.table.filter { options.contains($0.option) }
    }
}
