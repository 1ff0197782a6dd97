import Headrace
import HeadracePlatform

/// Runs `headrace verify`: checks existing files against their checksums.
func verify(_ arguments: ParsedArguments) async throws(UsageError) -> ExitCode {
    var options = try GetOptions(arguments)
    guard !options.integrity.checksums.isEmpty || options.integrity.checksumFile != nil || !options.metalinks.isEmpty
    else {
        let list = options.urls.first(where: ChecksumList.isFile)
        let advice = list.map { "\($0) is a checksum file, so use headrace verify --checksum-file \($0)" }
        throw UsageError("no checksum given; \(advice ?? "use --checksum, --checksum-file or --metalink")")
    }
    guard options.integrity.checksums.isEmpty || options.urls.count == 1 else {
        let count = options.urls.count
        throw UsageError(
            count == 0
                ? "no file given"
                : "--checksum: it applies to one file, but \(count) were given; use --checksum-file instead"
        )
    }
    let documents = try options.readMetalinks(needsSources: false)
    try options.readNetworkFiles()
    return try await reportingErrors(to: arguments) { [options] in
        let list = try await options.readChecksumList()
        let all = try Expectations(options, list, documents).files
        let ignoresMissing = arguments.has(.ignoreMissing) && options.urls.isEmpty
        let expected = ignoresMissing ? all.filter { !Files.isMissing($0.path) } : all
        guard !expected.isEmpty else {
            throw DownloadError(.fileSystem, "None of the listed files exists.")
        }
        guard !options.writesJSON || Console.output.write(JSONLines.head + "\n") else { return .disk }
        if let count = list?.malformedLineCount, count > 0, options.verbosity != .quiet {
            let lines = count == 1 ? "1 line is malformed" : "\(count) lines are malformed"
            let name = (options.integrity.checksumFile ?? "").withoutCredentials
            Console.error.write("headrace: --checksum-file: \(name): \(lines)".printable + "\n")
        }
        let isStrictFailure = arguments.has(.strict) && (list?.malformedLineCount ?? 0) > 0
        if options.verbosity != .quiet { expected[0].document?.reportName(unless: expected[0].name) }
        var failures: [ExitCode] = []
        for (number, file) in expected.enumerated() {
            let position = expected.count > 1 ? "\(number + 1)/\(expected.count) " : ""
            guard let status = await Comparison(file, position: position, options).run() else { return .disk }
            if status != .success { failures.append(status) }
        }
        if all.count > 1, !options.writesJSON, options.verbosity != .quiet {
            let wrong = failures.count { $0 == .checksum }
            let others = failures.count - wrong
            Console.error.write(
                "\(expected.count - failures.count) of \(expected.count) verified"
                    + (wrong > 0 ? ", \(wrong) wrong" : "") + (others > 0 ? ", \(others) could not be read" : "")
                    + (expected.count < all.count ? ", \(all.count - expected.count) missing" : "") + "\n"
            )
        }
        if isStrictFailure { failures.append(.checksum) }
        return options.status(after: ExitCode(of: failures))
    }
}

/// Verifies one file and reports the result.
private struct Comparison: Sendable {
    /// The state of the progress display: the drawn lines, and the time of the last update.
    private struct Display {
        var area = StatusArea()
        var last = ContinuousClock.now
    }

    /// The result of verifying a file.
    private enum Finding {
        case right(Checksum)
        case rightPieces(Int)
        case wrong(String)
    }

    private let expected: Expectations.File
    /// The position of the file among several, such as `2/5`, shown before its name.
    private let position: String
    private let writesJSON: Bool
    private let isQuiet: Bool

    private var file: String { expected.path }

    init(_ expected: Expectations.File, position: String, _ options: GetOptions) {
        self.expected = expected
        self.position = position
        writesJSON = options.writesJSON
        isQuiet = options.verbosity == .quiet
    }

    /// Verifies the file and prints the result; returns `nil` if the result could not be written to standard output.
    func run() async -> ExitCode? {
        let display = Locked(Display())
        let result: Result<Finding, any Error>
        do {
            result = .success(
                try await compare { bytes, size in display.withLock { draw(bytes, size, &$0) } }
            )
        } catch {
            result = .failure(error)
        }
        display.withLock { show([], &$0.area) }
        return report(result)
    }

    private func compare(_ onProgress: @escaping @Sendable (Int64, Int64) -> Void) async throws -> Finding {
        let url = URL(givenPath: file, .notDirectory)
        var message = "some pieces do not match their checksums"
        if let expectedSize = expected.document?.size, let size = Files.size(file), size != expectedSize {
            message = "the size is \(size) bytes, expected \(expectedSize)"
        } else if let checksum = expected.checksum {
            let found = try await Checksum.compute(checksum.algorithm, ofFileAt: url, onProgress: onProgress)
            guard found != checksum else { return .right(found) }
            message = "the checksum is \(found), expected \(checksum.hexadecimal)"
        }
        guard let pieces = expected.pieces else { return .wrong(message) }
        let wrong = try await pieces.wrongRanges(ofFileAt: url, onProgress: onProgress)
        if wrong.isEmpty, expected.checksum == nil { return .rightPieces(pieces.count) }
        let bytes = wrong.reduce(0) { $0 + $1.upperBound - $1.lowerBound }
        let part =
            bytes > 0 ? "\(Format.size(bytes)) are damaged; repair them with headrace repair" : "all pieces match"
        return .wrong("\(message); \(part)")
    }

    private func draw(_ bytes: Int64, _ size: Int64, _ display: inout Display) {
        let now = ContinuousClock.now
        guard !isQuiet || writesJSON, now - display.last >= (writesJSON ? .seconds(1) : .milliseconds(100)) else {
            return
        }
        display.last = now
        if writesJSON {
            write(object("progress", ["bytesVerified": .integer(bytes), "totalBytes": .integer(size)]))
        } else {
            let name = (position + file).printable
            let columns = Columns(
                width: Console.error.size.columns,
                longestName: name.displayWidth,
                Console.glyphs
            )
            show([columns.line(name: name, verified: bytes, of: size)], &display.area)
        }
    }

    private func show(_ lines: [String], _ area: inout StatusArea) {
        guard Console.error.canRedraw, Console.error.isForeground || lines.isEmpty else { return }
        let frame = area.frame(permanent: [], live: lines, width: Console.error.size.columns)
        if let frame { Console.error.write(frame) }
    }

    private func report(_ result: Result<Finding, any Error>) -> ExitCode? {
        switch result {
        case .success(.right(let found)):
            return succeed("verified", "checksum", .string("\(found)"), "\(found)")
        case .success(.rightPieces(let count)):
            return succeed("piecesVerified", "pieces", .integer(Int64(count)), "\(count) pieces")
        case .success(.wrong(let message)):
            return fail(message, .checksum, .checksum)
        case .failure(let error as DownloadError):
            return fail(error.message, error.code, ExitCode(error.code))
        case .failure(let error):
            return fail("\(error)", .fileSystem, .other)
        }
    }

    private func succeed(_ event: String, _ name: String, _ value: JSONObject.Value, _ what: String) -> ExitCode? {
        if writesJSON { return write(object(event, [name: value])) ? .success : nil }
        return isQuiet || write("\(file.printable): OK, \(what)") ? .success : nil
    }

    private func fail(_ message: String, _ code: DownloadError.Code, _ status: ExitCode) -> ExitCode? {
        Console.error.write("headrace: \(file): \(message)".printable + "\n")
        guard writesJSON else { return status }
        let members: KeyValuePairs<String, JSONObject.Value> = [
            "code": .string("\(code)"), "message": .string(message),
            "exitStatus": .integer(Int64(ExitCode(code).code)),
        ]
        return write(object("failed", members)) ? status : nil
    }

    private func object(_ event: String, _ members: KeyValuePairs<String, JSONObject.Value>) -> String {
        var object = JSONObject(["event": .string(event), "file": .string(file)])
        for (name, value) in members { object.append(name, value) }
        return object.text
    }

    @discardableResult
    private func write(_ line: String) -> Bool { Console.output.write(line + "\n") }
}

extension ChecksumList {
    /// Returns whether the file is a checksum file that lists files.
    fileprivate static func isFile(_ path: String) -> Bool {
        guard path != "-", let bytes = try? Files.read(path, maxBytes: maxBytes) else { return false }
        return (try? ChecksumList(parsing: bytes))?.entries.contains { $0.fileName != nil } == true
    }
}
