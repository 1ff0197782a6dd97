import Headrace
import HeadracePlatform

/// Runs `headrace repair`: verifies an existing file, and downloads its damaged parts.
func repair(_ arguments: ParsedArguments) async throws -> ExitCode {
    var options = try GetOptions(arguments)
    guard let file = options.urls.first else { throw UsageError("no file given") }
    options.urls.removeFirst()
    options.refetchPolicy = .ifChanged
    do {
        guard try GivenFile.status(of: file) != nil else {
            throw UsageError("\(file): no such file or directory; use headrace get to download it")
        }
    } catch let error as SystemError {
        throw UsageError("\(file): \(error)")
    }
    // The repaired file would replace the link, and its target would stay damaged.
    guard (try? FileSystem.system.status(file))?.kind != .link else {
        throw UsageError("\(file): this is a symbolic link; give its target instead")
    }
    let fileURL = URL(givenPath: file, .notDirectory)
    let documents = try options.readMetalinks(needsSources: false)
    let document = documents.file(matching: fileURL.lastPathComponent)
    guard documents.isEmpty || document != nil else {
        throw UsageError("--metalink: no file named \(fileURL.lastPathComponent) is described")
    }
    if options.verbosity != .quiet { document?.reportName(unless: fileURL.lastPathComponent) }
    let described = document?.request(to: fileURL.deletingLastPathComponent())
    let sources =
        try options.urls.map { try Argument.url($0) }
        + (described.map { [$0.url] + $0.mirrors } ?? [])
    guard let source = sources.first else { throw UsageError("no URL given, and no Metalink document with one") }
    try await options.readNetworkFiles()
    let list = try await options.readChecksumList()
    var request = DownloadRequest(source, to: .file(fileURL))
    request.mirrors = Array(sources.dropFirst())
    request.checksums = try options.checksums(forFileNamed: [file], in: list) + (described?.checksums ?? [])
    request.pieceHashes = described?.pieceHashes
    request.expectedSize = described?.expectedSize
    guard request.pieceHashes != nil || !request.checksums.isEmpty else {
        throw UsageError("no checksum given; use --checksum, --checksum-file or --metalink")
    }
    try options.complete(&request)
    return options.status(after: try await download([request], options).status)
}
