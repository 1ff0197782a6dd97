struct Verb: Sendable {
    /// The command's word, preceded by the word of its group if it has one: `get`, `queue add`.
    let name: String
    var operands = ""
    let summary: String
    let options: [Option.Entry]
    /// Paragraphs below the options in the help text.
    var notes: [String] = []
    let run: @Sendable (ParsedArguments) async throws -> ExitCode

    private static let downloadOptions = Set(Option.allCases).subtracting(Option.queueOnly)
        .subtracting(Option.verifyOnly)

    static let table: [Verb] =
        [
            Verb(
                name: "get",
                operands: "URL...",
                summary: "download files",
                options: .entries(of: downloadOptions),
                notes: [Hooks.notes],
                run: get
            ),
            Verb(
                name: "verify",
                operands: "[FILE...]",
                summary: "check existing files against their checksums",
                options: .entries(
                    of: Option.networkOptions.union([
                        .checksum, .checksumFile, .metalink, .ignoreMissing, .strict, .header, .user, .retries,
                        .timeout, .connectTimeout, .allowDowngrade, .json, .quiet, .help,
                    ])
                ),
                notes: [
                    """
                    Without FILE, all files that --checksum-file and --metalink list are verified, relative to the current
                    directory. A missing file is an error unless --ignore-missing is given. If a Metalink document
                    describes only one file, FILE may have a different name.
                    """
                ],
                run: verify
            ),
            Verb(
                name: "repair",
                operands: "FILE [URL...]",
                summary: "download the damaged parts of an existing file",
                options: .entries(
                    of: downloadOptions.subtracting([
                        .output, .tee, .directory, .inputFile, .jobs, .mirror, .method, .data, .dataFile, .ifExists,
                        .ifChanged, .noResume, .compressed, .dryRun, .followMetalink, .version,
                    ])
                ),
                notes: [
                    """
                    The file is verified against --checksum, --checksum-file or --metalink. If a Metalink document has
                    checksums of its pieces, only the damaged pieces are downloaded; otherwise the whole file is.
                    The file is replaced only after the repaired one has been verified.
                    """
                ],
                run: repair
            ),
        ] + queue + [completions, manual]

    var words: [String] { name.split(separator: " ").map(String.init) }

    /// Returns the commands whose names start with the word of a group, such as `queue`.
    static func group(_ word: String, in verbs: [Verb] = table) -> [Verb] {
        verbs.filter { $0.words.count > 1 && $0.words[0] == word }
    }
}
