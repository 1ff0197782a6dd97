import Headrace
import HeadracePlatform

/// Runs `headrace verify`: checks existing files against their checksums.
func verify(_ arguments: ParsedArguments) async throws -> ExitCode {
    var options = try GetOptions(arguments)
    guard !options.checksums.isEmpty || options.checksumFile != nil || !options.metalinks.isEmpty else {
        let list = options.urls.first(where: ChecksumList.isFile)
        let advice = list.map { "\($0) is a checksum file, so use headrace verify --checksum-file \($0)" }
        throw UsageError("no checksum given; \(advice ?? "use --checksum, --checksum-file or --metalink")")
    }
    guard options.checksums.isEmpty || options.urls.count == 1 else {
        let count = options.urls.count
        throw UsageError(
            count == 0
                ? "no file given"
                : "--checksum: it applies to one file, but \(count) were given; use --checksum-file instead"
        )
    }
    let documents = try options.readMetalinks(needsSources: false)
    try await options.readNetworkFiles()
    let list = try await options.readChecksumList(isOnlyDownload: true)
    let all = try Expectations(options, list, documents).files
    let ignoresMissing = arguments.has(.ignoreMissing) && options.urls.isEmpty
    let expected = ignoresMissing ? all.filter { !Files.isMissing($0.path) } : all
    guard !expected.isEmpty else {
        throw DownloadError(.fileSystem, "None of the listed files exists.")
    }
    guard !options.writesJSON || Console.output.write(JSONLines.head + "\n") == .success else { return .disk }
    let malformed = list?.malformedLineCount ?? 0
    if options.verbosity != .quiet {
        if malformed > 0 {
            let lines = malformed == 1 ? "1 line is malformed" : "\(malformed) lines are malformed"
            let name = (options.checksumFile ?? "").withoutCredentials
            Console.error.note("--checksum-file: \(name): \(lines)")
        }
        expected[0].document?.reportName(unless: expected[0].name)
    }
    var failures: [ExitCode] = []
    for (number, file) in expected.enumerated() {
        let position = expected.count > 1 ? "\(number + 1)/\(expected.count) " : ""
        let verified = VerifiedFile(expected: file, position: position, options: options)
        guard let status = await verified.run() else { return .disk }
        if status != .success { failures.append(status) }
    }
    if all.count > 1, !options.writesJSON, options.verbosity != .quiet {
        Console.error.write(summary(of: expected.count, failures, missing: all.count - expected.count) + "\n")
    }
    if arguments.has(.strict), malformed > 0 { failures.append(.checksum) }
    return options.status(after: ExitCode(of: failures))
}

private func summary(of count: Int, _ failures: [ExitCode], missing: Int) -> String {
    let wrong = failures.count { $0 == .checksum }
    let others = failures.count - wrong
    return "\(count - failures.count) of \(count) verified"
        + (wrong > 0 ? ", \(wrong) wrong" : "") + (others > 0 ? ", \(others) could not be read" : "")
        + (missing > 0 ? ", \(missing) missing" : "")
}

private struct VerifiedFile: Sendable {
    private struct Display {
        var area = StatusArea()
        var last = ContinuousClock.now
    }

    let expected: Expectations.File
    /// The position of the file among several, such as `2/5`, shown before its name.
    let position: String
    let options: GetOptions

    private var file: String { expected.path }
    private var writesJSON: Bool { options.writesJSON }
    private var isQuiet: Bool { options.verbosity == .quiet }

    /// Verifies the file and prints the result; returns `nil` if the result could not be written to standard output.
    func run() async -> ExitCode? {
        let display = Locked(Display())
        let result: Result<FileVerification.Outcome, any Error>
        do {
            let url = URL(givenPath: file, .notDirectory)
            result = .success(
                try await expected.verification.verify(url) { bytes, size in
                    display.withLock { draw(bytes, size, &$0) }
                }
            )
        } catch {
            result = .failure(error)
        }
        display.withLock { _ = Console.error.draw([], in: &$0.area) }
        switch result {
        case .success(.verified(.checksum(let found))):
            return succeed("verified", ["checksum": "\(found)"], "\(found)")
        case .success(.verified(.pieces(let count))):
            return succeed("piecesVerified", ["pieces": count], "\(count) pieces")
        case .success(.verified(.size(let bytes))):
            return succeed("verified", ["size": bytes], Format.size(bytes))
        case .success(.different(let difference)): return fail(difference.message, .checksum)
        case .failure(let error as DownloadError): return fail(error.message, error.code)
        case .failure(let error): return fail("\(error)", .fileSystem)
        }
    }

    private func draw(_ bytes: Int64, _ size: Int64, _ display: inout Display) {
        let now = ContinuousClock.now
        guard !isQuiet || writesJSON, now - display.last >= (writesJSON ? .seconds(1) : .milliseconds(100)) else {
            return
        }
        display.last = now
        if writesJSON {
            write("progress", ["bytesVerified": bytes, "totalBytes": size])
        } else {
            let name = (position + file).printable
            let columns = Columns(
                width: Console.error.size.columns,
                longestName: name.displayWidth,
                Console.glyphs
            )
            Console.error.draw([columns.line(name: name, verified: bytes, of: size)], in: &display.area)
        }
    }

    private func succeed(_ event: String, _ members: JSONObject, _ what: String) -> ExitCode? {
        if writesJSON { return write(event, members) ? .success : nil }
        return isQuiet || Console.output.write("\(file.printable): OK, \(what)\n") == .success ? .success : nil
    }

    private func fail(_ message: String, _ code: DownloadError.Code) -> ExitCode? {
        Console.error.note("\(file): \(message)")
        return !writesJSON || write("failed", .failure(code, message)) ? ExitCode(code) : nil
    }

    @discardableResult
    private func write(_ event: String, _ members: JSONObject) -> Bool {
        Console.output.write((["event": event, "file": file] + members).text + "\n") == .success
    }
}

extension FileVerification.Difference {
    fileprivate var message: String {
        guard let damagedRanges else { return description }
        let bytes = damagedRanges.reduce(0) { $0 + $1.upperBound - $1.lowerBound }
        guard bytes > 0 else { return "\(description); all pieces match" }
        return "\(description); \(Format.size(bytes)) are damaged; repair them with headrace repair"
    }
}

extension ChecksumList {
    fileprivate static func isFile(_ path: String) -> Bool {
        guard path != "-", let bytes = try? Files.read(path, maxBytes: maxBytes) else { return false }
        return (try? ChecksumList(parsing: bytes))?.entries.contains { $0.fileName != nil } == true
    }
}
