/// A command of the tool; later ones are more rows of the table.
struct Verb: Sendable {
    /// One word, or that of a group and its own.
    let name: String
    let operands: String
    let summary: String
    let options: [Option.Entry]
    /// What the help text says below the options, in paragraphs.
    var notes: [String] = []
    let run: @Sendable (ParsedArguments) async throws(UsageError) -> ExitCode

    /// The options of downloads that are in no list.
    private static let downloadOptions = Set(Option.allCases).subtracting(Option.queueOnly)
        .subtracting(Option.verifyOnly)

    static let table: [Verb] =
        [
            Verb(
                name: "get",
                operands: "URL...",
                summary: "download files",
                options: .entries(of: downloadOptions),
                run: { arguments async throws(UsageError) in try await get(arguments) }
            ),
            Verb(
                name: "verify",
                operands: "[FILE...]",
                summary: "compare files that are there with their checksums",
                options: .those(
                    of: Option.networkOptions.union([
                        .checksum, .checksumFile, .metalink, .ignoreMissing, .strict, .header, .retries, .timeout,
                        .connectTimeout, .allowDowngrade, .json, .quiet, .help,
                    ])
                ),
                notes: [
                    """
                    Without FILE, all files are compared that --checksum-file and --metalink name, as seen from the
                    current folder; one that is missing is told, and counts as a failure without --ignore-missing.
                    FILE may have another name than the only file of a document.
                    """
                ],
                run: { arguments async throws(UsageError) in try await verify(arguments) }
            ),
            Verb(
                name: "repair",
                operands: "FILE [URL...]",
                summary: "fetch what is wrong of a file that is there",
                options: .those(
                    of: downloadOptions.subtracting([
                        .output, .directory, .inputFile, .jobs, .mirror, .ifExists, .ifChanged, .noResume, .dryRun,
                        .followMetalink, .version,
                    ])
                ),
                notes: [
                    """
                    The file is compared with --checksum, --checksum-file or --metalink. Where a Metalink document has
                    checksums of its pieces, those that are right are kept; else a wrong file is fetched as a whole.
                    It is replaced when the new one is proved to be right, and not before.
                    """
                ],
                run: { arguments async throws(UsageError) in try await repair(arguments) }
            ),
        ] + queue + [completions]

    /// The words of the name.
    var words: [String] { name.split(separator: " ").map(String.init) }

    /// The commands whose names begin with the word of a group.
    static func group(_ word: String, in verbs: [Verb] = table) -> [Verb] {
        verbs.filter { $0.words.count > 1 && $0.words[0] == word }
    }
}
