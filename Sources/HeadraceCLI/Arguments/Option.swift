import Headrace

enum Option: CaseIterable, Sendable {
    case output, tee, directory, partialsDir, inputFile, jobs, connections, limitRate, limitPerHost, checksum,
        checksumFile, header, headerEverywhere, userAgent, referer, method, data, dataFile, user, mirror, metalink,
        retries, timeout, connectTimeout, minSpeed, timeLimit, maxRedirects, waitForNetwork, ifExists, ifChanged,
        onMismatch, noRemoteTime, noResume, sync, dryRun, onFinish, onFail, linkCommand, cacert, pinnedKey, cert, key,
        proxy, netrc, netrcFile, cookies, hsts, compressed, ipv4, ipv6, interface, resolve, dohUrl, connectTo,
        unixSocket, http1, http2, http3, allowDowngrade, config, noConfig, json, quiet, verbose, version, help,
        registry, title, group, priority, paused, begin, state, files, watch, network, background, ignoreMissing,
        strict, followMetalink

    /// The long name: the name of the case, with hyphens between its words; `http1.1` for ``http1``.
    var rawValue: String { self == .http1 ? "http1.1" : Self.hyphenated(self) }

    private static let named = Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue, $0) })

    init?(rawValue: String) {
        guard let option = Self.named[rawValue] else { return nil }
        self = option
    }

    /// Returns the name of a case with hyphens between its words: `not-expensive`.
    static func hyphenated(_ value: some Any) -> String {
        "\(value)".reduce(into: "") { $0 += $1.isUppercase ? "-\($1.lowercased())" : "\($1)" }
    }

    /// The words that the option accepts, to be completed by shells; empty if it accepts no particular words.
    var words: [String] {
        switch self {
        case .ifExists: DownloadRequest.ConflictPolicy.allCases.map(\.rawValue)
        case .state: DownloadState.Kind.allCases.map(\.rawValue)
        case .priority: DownloadPriority.words.map(\.word)
        case .jobs: ["auto"]
        case .onMismatch: DownloadRequest.MismatchPolicy.allCases.map(\.rawValue)
        case .network: DownloadRequest.NetworkPolicy.allCases.map(Self.hyphenated)
        default: []
        }
    }

    /// Options for connections, proxies, TLS, logins and cookies.
    static let networkOptions: Set<Option> = [
        .cacert, .pinnedKey, .cert, .key, .proxy, .netrc, .netrcFile, .cookies, .hsts, .userAgent, .ipv4, .ipv6,
        .interface, .resolve, .dohUrl, .connectTo, .unixSocket, .http1, .http2, .http3,
    ]

    /// Options that only the commands for a queue on disk accept.
    static let queueOnly: Set<Option> = [
        .registry, .title, .group, .priority, .paused, .begin, .state, .files, .watch, .background,
    ]

    /// Options of all commands except those whose only option is `--help`.
    static let configurationOptions: Set<Option> = [.config, .noConfig]

    /// Groups of options that replace each other: one on the command line overrides all of its group in the
    /// configuration file.
    static let alternatives: [[Option]] = exclusive + [[.netrc, .netrcFile], [.quiet, .verbose]]

    /// The groups in which two options at once are an error, because neither overrides the other.
    static let exclusive: [[Option]] = [[.ipv4, .ipv6], [.http1, .http2, .http3]]

    /// Options of `verify` alone, for files that already exist.
    static let verifyOnly: Set<Option> = [.ignoreMissing, .strict]

    /// Options of the process that runs a queue.
    static let queueRunOptions = networkOptions.union([
        .jobs, .connections, .limitPerHost, .limitRate, .retries, .timeout, .connectTimeout, .minSpeed, .timeLimit,
        .waitForNetwork, .maxRedirects, .onFinish, .onFail, .linkCommand, .noResume, .noRemoteTime, .sync,
        .allowDowngrade, .watch, .partialsDir, .registry, .json, .quiet, .verbose, .help,
    ])

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
        let short: Character?
        /// The argument's name in the help text; `nil` for a switch.
        let argument: String?
        let help: String

        /// The short name, if there is one, and the long name, with their hyphens.
        var names: [String] { (short.map { ["-\($0)"] } ?? []) + ["--\(option.rawValue)"] }
    }

    /// All options, in the order in which the help lists them within their groups.
    static let table = entries(in: tableText)

    /// Parses a table: each line is a heading, or an option and its help text with at least two spaces between them.
    private static func entries(in table: String) -> [Entry] {
        var group = Group.files
        var entries: [Entry] = []
        for line in table.split(separator: "\n") {
            group = Group(rawValue: String(line)) ?? group
            let columns = line.dropFirst(4).split(separator: "  ", maxSplits: 1)
            let words = columns[0].split(separator: " ", maxSplits: 1)
            guard columns.count == 2, let option = Option(rawValue: String(words[0].dropFirst(2))) else { continue }
            let short = line.hasPrefix("-") ? line.dropFirst().first : nil
            let argument = words.count == 2 ? String(words[1]) : nil
            let help = String(columns[1].drop { $0 == " " })
            entries.append(Entry(option: option, group: group, short: short, argument: argument, help: help))
        }
        return entries
    }
}

extension [Option.Entry] {
    static func entries(of options: Set<Option>) -> [Option.Entry] {
        let options = options == [.help] ? options : options.union(Option.configurationOptions)
        return Option.table.filter { options.contains($0.option) }
    }
}

private let tableText = """
    Files
    -o, --output FILE            save the file as FILE (default: the server's name); - for standard output; one URL only
        --tee                    also write the file to standard output while it is downloaded; one URL only
    -d, --directory DIR          save files in DIR, which is created if missing (default: .)
        --partials-dir DIR       save partial files in DIR instead of beside their destinations
    -i, --input-file FILE        read URLs or JSON from FILE, one per line; - for standard input, as is the URL -
        --metalink FILE          download, or verify, the files that this Metalink 4 document describes; repeatable
        --follow-metalink        after downloading a Metalink document, download the files that it describes
        --mirror URL             another source of the file; one URL only; repeatable
        --if-exists ACTION       if a file exists: rename, overwrite, skip or fail (default: rename, unless current)
        --if-changed             download an existing file only if the server's version differs, and replace it
        --no-resume              start from the beginning even if there is a partial file
        --no-remote-time         do not set the time of files to the server's modification time
        --sync                   flush files to disk, so that finished downloads survive a power failure
        --dry-run                show the size and the destination of each file without downloading it
        --on-finish CMD          run CMD after each finished download
        --on-fail CMD            run CMD after each failed download
        --link-command CMD       run CMD when a URL has expired; the first line of its output is the new URL
    Queue
        --title TEXT             name to show in the queue instead of the file name
        --group NAME             the group that the downloads belong to
        --state STATE            only downloads that are waiting, running, paused, finished, failed or cancelled
        --priority LEVEL         low, normal, high or a number; higher numbers run first (default: normal)
        --paused                 add the downloads paused; queue resume starts them
        --begin TIME             do not start before TIME: 2026-05-01T22:00 (local time, or with Z or +02:00), or +1h30m
        --files                  also delete the downloaded files, finished or partial
        --watch                  when no download is left, wait for more until stopped by a signal
        --background             run in the background with a log file; see queue status and queue stop
        --registry DIR           directory of the queue (default: headrace in $XDG_STATE_HOME or ~/.local/state)
    Speed
    -j, --jobs N                 run up to N downloads at once (default: auto, many if they are small)
        --limit-per-host N       run up to N downloads from one host at once (default: no limit)
    -x, --connections N          open up to N connections per download (default: automatic, up to 16)
        --limit-rate RATE        limit the total speed: 500K, 1.5M, none, or 'Mon-Fri 08:00-18:00 1M, else none'
    Retries and timeouts
        --retries N              retry up to N times in a row without progress (default: 5, or 1 until a host responds)
        --timeout SECONDS        retry a transfer that receives nothing for SECONDS (default: 30)
        --connect-timeout SECONDS  maximum time to establish a connection (default: 15)
        --min-speed RATE         retry a transfer that is slower than RATE for the time of --timeout
        --time-limit SECONDS     abort a download that takes longer than SECONDS; its partial file is kept
        --max-redirects N        follow up to N redirects (default: 20)
        --wait-for-network       wait while there is no network instead of using up retries
    Integrity
        --checksum ALG=HEX       expected md5, sha1, sha256, sha384 or sha512 of the file; one file only; repeatable
        --checksum-file FILE     verify files against this checksum file, such as SHA256SUMS; a path or a URL
        --on-mismatch ACTION     keep a file with a wrong checksum as NAME.mismatch, or delete it (default: keep)
        --ignore-missing         skip listed files that do not exist
        --strict                 fail if a line of --checksum-file is malformed, instead of warning
    Network
    -H, --header 'NAME: VALUE'   send this header field; secrets and Referer only to the URL's own server; repeatable
        --header-everywhere FIELD  as --header, but sent also to the servers that redirects lead to; repeatable
    -A, --user-agent TEXT        send this User-Agent (default: headrace and its version)
    -e, --referer URL            send this Referer to the URL's own server
        --method NAME            request the file with this method (default: GET, or POST with a body)
        --data TEXT              send this body; only once, unless --retries says that it may be repeated
        --data-file FILE         send the bytes of this file as the body
        --compressed             request the file compressed (gzip, br, zstd), and save it decompressed
        --proxy URL              http, https, socks5 or socks5h proxy; '' for none (default: from the environment)
        --cookies FILE           send the cookies of this cookies.txt file, and those that servers set
        --hsts FILE              keep the hosts that require https in FILE, and use https for them
    -4, --ipv4                   connect to IPv4 addresses only
    -6, --ipv6                   connect to IPv6 addresses only
        --interface NAME         connect from this network interface or local address
        --resolve HOST:PORT:ADDR  use this address for the host instead of looking it up; repeatable
        --doh-url URL            look up hosts with this resolver over https, instead of the system's
        --connect-to RULE        connect to another server: HOST:PORT:OTHER:PORT; repeatable
        --unix-socket PATH       connect through this UNIX domain socket
        --http1.1                use HTTP/1.1 only
        --http2                  use HTTP/2 where possible (default: HTTP/2 or HTTP/1.1, whichever is faster)
        --http3                  use HTTP/3 where possible; HEADRACE_LIBCURL can name a libcurl that supports it
        --network POLICY         required network: any, not-expensive, not-constrained or wifi-or-wired (default: any)
    Security
        --cacert FILE            trust the certificate authorities in this PEM file instead of the system's
        --pinned-key KEY         accept only https servers with this public key: sha256//BASE64; repeatable
        --cert FILE              client certificate (PEM file) for servers that request one
        --key FILE               private key of the client certificate (PEM file; default: the file of --cert)
    -u, --user NAME[:PASSWORD]   log in to the URLs' own servers; without the password, you are prompted
    -n, --netrc                  log in to servers with the credentials in ~/.netrc
        --netrc-file FILE        log in to servers with the credentials in this netrc file
        --allow-downgrade        follow redirects from https to http
    Output
        --config FILE            read options from FILE (default: headrace/config in $XDG_CONFIG_HOME or ~/.config)
        --no-config              do not read a configuration file
        --json                   print one JSON object per line to standard output
    -q, --quiet                  print errors only
    -v, --verbose                also print redirects, responses, what limits the speed, ...
        --version                print the version
    -h, --help                   print this help
    """
