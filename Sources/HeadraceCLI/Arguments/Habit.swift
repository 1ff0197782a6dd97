/// The meaning of an option that curl, wget or aria2 have and this tool lacks.
enum Habit: Sendable, Equatable {
    case name(Option)
    /// This tool always does what the option requests, so the option is not needed.
    case isDefault
    /// Like ``isDefault``, but only if the option has the argument `-`, as in curl's `-C -`.
    case isDefaultWithHyphen
    /// The tool has no such option; the text says what to write instead.
    case advice(String)

    /// Returns the meaning of a word such as `-L` for a command with these options; `nil` if the word is unknown, or if
    /// the command sends no requests or lacks the option that the word stands for.
    static func find(_ word: String, in options: [Option.Entry]) -> Habit? {
        guard options.contains(where: { $0.option == .header }), let habit = table[word] else { return nil }
        if case .name(let option) = habit, !options.contains(where: { $0.option == option }) { return nil }
        return habit
    }

    private static let table = Dictionary(uniqueKeysWithValues: text.split(separator: "\n").flatMap(entries))

    private static func entries(_ line: Substring) -> [(String, Habit)] {
        let parts = line.split(separator: ":", maxSplits: 1)
        let meaning = parts[1].dropFirst()
        let habit: Habit =
            switch meaning {
            case "default": .isDefault
            case "default -": .isDefaultWithHyphen
            default: Option(rawValue: String(meaning.dropFirst(2))).map { .name($0) } ?? .advice(String(meaning))
            }
        return parts[0].split(separator: " ").map { (String($0), habit) }
    }

    private static let text = """
        -L --location -f --fail -J --remote-header-name --content-disposition --trust-server-names: default
        -R --remote-time -S --show-error -c --continue --create-dirs -Z --parallel --remote-name --remote-name-all: default
        --digest --anyauth: leave it out; Digest is used if the server requests it, but before, -u sends the password by Basic
        -C --continue-at: default -
        -N --timestamping --conditional-get: --if-changed
        -P --directory-prefix --output-dir --dir: --directory
        --output-document --out: --output
        -s --silent --no-verbose: --quiet
        -I --head --spider: --dry-run
        -X --request: --method
        --data-raw --data-ascii --data-binary --post-data --body-data: --data
        --post-file --body-file: --data-file
        --retry: --retries
        --max-redirect --max-redirs: --max-redirects
        --max-time: --time-limit
        --read-timeout: --timeout
        --split --max-connection-per-server: --connections
        --max-concurrent-downloads --parallel-max: --jobs
        --max-overall-download-limit: --limit-rate
        --ca-certificate: --cacert
        --load-cookies: --cookies
        --all-proxy: --proxy
        -O: leave it out to use the server's name, or write -o FILE to choose the name
        -k --insecure --no-check-certificate: certificates are always checked; trust a private authority with --cacert FILE
        -m: write --time-limit SECONDS (curl) or --retries N (aria2)
        -T: write --timeout SECONDS (wget); files cannot be uploaded
        -nd -nH -np: leave it out; files are saved without the server's folders
        -t: write --retries N (wget) or --timeout SECONDS (aria2)
        --tries --max-tries: write --retries N, which does not count the first attempt
        -F --form --upload-file --data-urlencode: files and forms cannot be uploaded; --data TEXT sends a body
        -b --cookie: write --cookies FILE or -H 'Cookie: NAME=VALUE', or use headrace queue run --background
        -nv: write --quiet
        -nc --no-clobber: write --if-exists skip
        -r --range: a part of a file or a whole site cannot be downloaded
        --location-trusted: write --header-everywhere 'NAME: VALUE'
        """
}
