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

    /// Options for proxies, TLS, logins and cookies.
    static let networkOptions: Set<Option> = [
        .cacert, .pinnedKey, .cert, .key, .proxy, .netrc, .netrcFile, .cookies,
    ]

    /// Options that only the commands for a queue on disk accept.
    static let queueOnly: Set<Option> = [
        .registry, .title, .group, .priority, .paused, .begin, .state, .files, .watch, .background,
    ]

    /// Options of `verify` alone, for files that already exist.
    static let verifyOnly: Set<Option> = [.ignoreMissing, .strict]

    /// Options of the process that runs a queue.
    static let queueRunOptions = networkOptions.union([
        .jobs, .limitPerHost, .limitRate, .retries, .timeout, .connectTimeout, .minSpeed, .timeLimit, .waitForNetwork,
        .noResume, .noRemoteTime, .sync, .allowDowngrade, .watch, .registry, .json, .quiet, .verbose, .help,
    ])

    /// Whether the option's argument is the path of a file.
    var namesFile: Bool { Self.table.contains { $0.option == self && $0.completion == .file } }

    /// The headings of the help text, in their order.
    enum Group: String, CaseIterable, Sendable {
        case files = "Files"
        case queue = "Queue"
        case speed = "Speed"
        case retries = "Retries and timeouts"
        case integrity = "Integrity"
        case network = "Network"
        case security = "Security"
        case output = "Output"
    }

    /// The description of an option for the parser, the help text and the completions.
    struct Entry: Sendable {
        let option: Option
        let group: Group
        var short: Character?
        /// The argument's name in the help text; `nil` for a switch.
        var argument: String?
        /// The possible arguments, if there are only a few.
        var words: [String] = []
        let help: String

        init(
            _ option: Option,
            _ group: Group,
            short: Character? = nil,
            argument: String? = nil,
            words: [String] = [],
            help: String
        ) {
            self.option = option
            self.group = group
            self.short = short
            self.argument = argument
            self.words = words
            self.help = help
        }
    }

    /// All options, in the order in which the help lists them within their groups.
    static let table: [Entry] = [
        Entry(
            .output,
            .files,
            short: "o",
            argument: "FILE",
            help: "save the file as FILE; one URL only (default: the name from the server or the URL)"
        ),
        Entry(
            .directory,
            .files,
            short: "d",
            argument: "DIR",
            help: "save files in DIR, which is created if missing (default: .)"
        ),
        Entry(
            .inputFile,
            .files,
            short: "i",
            argument: "FILE",
            help: "read URLs from FILE, one per line; - for standard input"
        ),
        Entry(
            .metalink,
            .files,
            argument: "FILE",
            help: "download, or verify, the files that this Metalink 4 document describes; repeatable"
        ),
        Entry(
            .followMetalink,
            .files,
            help: "after downloading a Metalink document, download the files that it describes"
        ),
        Entry(.mirror, .files, argument: "URL", help: "another source of the file; one URL only; repeatable"),
        Entry(
            .ifExists,
            .files,
            argument: "ACTION",
            words: DownloadRequest.ConflictPolicy.allCases.map(\.rawValue),
            help: "if another file exists: rename, overwrite, skip or fail (default: rename)"
        ),
        Entry(
            .ifChanged,
            .files,
            help: "download an existing file only if the server's version differs, and replace it"
        ),
        Entry(.noResume, .files, help: "start from the beginning even if there is a partial file"),
        Entry(.noRemoteTime, .files, help: "do not set the time of files to the server's modification time"),
        Entry(.sync, .files, help: "flush files to disk, so that finished downloads survive a power failure"),
        Entry(.dryRun, .files, help: "show the size and the destination of each file without downloading it"),
        Entry(.title, .queue, argument: "TEXT", help: "name to show in the queue instead of the file name"),
        Entry(.group, .queue, argument: "NAME", help: "the group that the downloads belong to"),
        Entry(
            .state,
            .queue,
            argument: "STATE",
            words: DownloadState.Kind.allCases.map(\.rawValue),
            help: "only downloads that are \(QueueSelector.states)"
        ),
        Entry(
            .priority,
            .queue,
            argument: "LEVEL",
            words: ["low", "normal", "high"],
            help: "low, normal, high or a number; higher numbers run first (default: normal)"
        ),
        Entry(.paused, .queue, help: "add the downloads paused; queue resume starts them"),
        Entry(
            .begin,
            .queue,
            argument: "TIME",
            help: "do not start before TIME: 2026-05-01T22:00 (local time, or with Z or +02:00), or +1h30m"
        ),
        Entry(.files, .queue, help: "also delete the downloaded files, finished or partial"),
        Entry(.watch, .queue, help: "when no download is left, wait for more until stopped by a signal"),
        Entry(.background, .queue, help: "run in the background with a log file; see queue status and queue stop"),
        Entry(
            .registry,
            .queue,
            argument: "DIR",
            help: "directory of the queue (default: headrace in $XDG_STATE_HOME or ~/.local/state)"
        ),
        Entry(.jobs, .speed, short: "j", argument: "N", help: "run up to N downloads at once (default: 4)"),
        Entry(
            .limitPerHost,
            .speed,
            argument: "N",
            help: "run up to N downloads from one host at once (default: no limit)"
        ),
        Entry(
            .connections,
            .speed,
            short: "x",
            argument: "N",
            help: "open up to N connections per download (default: automatic, up to 8)"
        ),
        Entry(
            .limitRate,
            .speed,
            argument: "RATE",
            help: "limit the total speed: 500K, 1.5M, none, or 'Mon-Fri 08:00-18:00 1M, else none'"
        ),
        Entry(
            .retries,
            .retries,
            argument: "N",
            help: "retry up to N times in a row without progress (default: 5, or 1 until a host responds)"
        ),
        Entry(
            .timeout,
            .retries,
            argument: "SECONDS",
            help: "retry a transfer that receives nothing for SECONDS (default: 30)"
        ),
        Entry(
            .connectTimeout,
            .retries,
            argument: "SECONDS",
            help: "maximum time to establish a connection (default: 15)"
        ),
        Entry(
            .minSpeed,
            .retries,
            argument: "RATE",
            help: "retry a transfer that is slower than RATE for the time of --timeout"
        ),
        Entry(
            .timeLimit,
            .retries,
            argument: "SECONDS",
            help: "abort a download that takes longer than SECONDS; its partial file is kept"
        ),
        Entry(.waitForNetwork, .retries, help: "wait while there is no network instead of using up retries"),
        Entry(
            .checksum,
            .integrity,
            argument: "ALG=HEX",
            help: "expected md5, sha1, sha256, sha384 or sha512 of the file; one file only; repeatable"
        ),
        Entry(
            .checksumFile,
            .integrity,
            argument: "FILE",
            help: "verify files against this checksum file, such as SHA256SUMS; a path or a URL"
        ),
        Entry(
            .onMismatch,
            .integrity,
            argument: "ACTION",
            words: DownloadRequest.MismatchPolicy.allCases.map(\.rawValue),
            help: "keep a file with a wrong checksum as NAME.mismatch, or delete it (default: keep)"
        ),
        Entry(.ignoreMissing, .integrity, help: "skip listed files that do not exist"),
        Entry(.strict, .integrity, help: "fail if a line of --checksum-file is malformed, instead of warning"),
        Entry(
            .header,
            .network,
            argument: "'NAME: VALUE'",
            help: "send this header field with each request; repeatable"
        ),
        Entry(
            .proxy,
            .network,
            argument: "URL",
            help: "http, https, socks5 or socks5h proxy; '' for none (default: from the environment)"
        ),
        Entry(
            .cookies,
            .network,
            argument: "FILE",
            help: "send the cookies of this cookies.txt file, and those that servers set"
        ),
        Entry(
            .network,
            .network,
            argument: "POLICY",
            words: DownloadRequest.NetworkPolicy.allCases.map(\.word),
            help: "required network: any, not-expensive, not-constrained or wifi-or-wired (default: any)"
        ),
        Entry(
            .cacert,
            .security,
            argument: "FILE",
            help: "trust the certificate authorities in this PEM file instead of the system's"
        ),
        Entry(
            .pinnedKey,
            .security,
            argument: "KEY",
            help: "accept only https servers with this public key: sha256//BASE64; repeatable"
        ),
        Entry(.cert, .security, argument: "FILE", help: "client certificate (PEM file) for servers that request one"),
        Entry(
            .key,
            .security,
            argument: "FILE",
            help: "private key of the client certificate (PEM file; default: the file of --cert)"
        ),
        Entry(.netrc, .security, help: "log in to servers with the credentials in ~/.netrc"),
        Entry(
            .netrcFile,
            .security,
            argument: "FILE",
            help: "log in to servers with the credentials in this netrc file"
        ),
        Entry(.allowDowngrade, .security, help: "follow redirects from https to http"),
        Entry(.json, .output, help: "print one JSON object per line to standard output"),
        Entry(.quiet, .output, short: "q", help: "print errors only"),
        Entry(.verbose, .output, short: "v", help: "also print redirects, responses and other details"),
        Entry(.version, .output, help: "print the version"),
        Entry(.help, .output, short: "h", help: "print this help"),
    ]
}

extension [Option.Entry] {
    /// Returns the entries of the given options, in the order of the table.
    static func entries(of options: Set<Option>) -> [Option.Entry] {
        Option.table.filter { options.contains($0.option) }
    }
}
