import Headrace

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Runs `headrace verify`: compares files that are there with their checksums.
func verify(_ arguments: ParsedArguments) async throws(UsageError) -> ExitCode {
    var options = try GetOptions(arguments)
    let files = options.urls
    guard !files.isEmpty else { throw UsageError("no file is given") }
    guard !options.integrity.checksums.isEmpty || options.integrity.list != nil else {
        throw UsageError("nothing to compare with is given: --checksum or --checksum-file")
    }
    guard options.integrity.checksums.isEmpty || files.count == 1 else {
        throw UsageError(
            "--checksum: there are \(files.count) files, and a checksum is of one; --checksum-file has many"
        )
    }
    try options.readNetworkFiles()
    return try await reportingErrors { [options] in
        let list = try await options.readChecksumList()
        let expected = try files.map { file throws(UsageError) in
            let name = URL(filePath: file, directoryHint: .notDirectory).lastPathComponent
            return try options.integrity.checksums(forFileNamed: [name], in: list)
        }
        if options.writesJSON { Console.output.write(JSONLines.head + "\n") }
        var failures: [ExitCode] = []
        for (file, checksums) in zip(files, expected) {
            guard let strongest = checksums.strongest else { continue }
            let status = await Comparison(file: file, expected: strongest, options).run()
            if status != .success { failures.append(status) }
        }
        return ExitCode(of: failures)
    }
}

/// One file and its checksum.
private struct Comparison: Sendable {
    /// What the thread that reads keeps between two reports.
    private struct Display {
        var area = LiveArea()
        var last = ContinuousClock.now
    }

    let file: String
    let expected: Checksum
    private let writesJSON: Bool
    private let isQuiet: Bool

    init(file: String, expected: Checksum, _ options: GetOptions) {
        self.file = file
        self.expected = expected
        writesJSON = options.writesJSON
        isQuiet = options.verbosity == .quiet
    }

    func run() async -> ExitCode {
        let display = Locked(Display())
        let url = URL(filePath: file, directoryHint: .notDirectory).absoluteURL
        let result: Result<Checksum, any Error>
        do {
            result = .success(
                try await Checksum.compute(expected.algorithm, ofFileAt: url) { bytes, size in
                    display.withLock { draw(bytes, size, &$0) }
                }
            )
        } catch {
            result = .failure(error)
        }
        display.withLock { show([], &$0.area) }
        return tell(result)
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
            let name = file.printable
            let columns = Columns(
                width: Console.error.size.columns,
                longestName: name.displayWidth,
                Console.glyphs
            )
            show([columns.line(name: name, verified: bytes, of: size)], &display.area)
        }
    }

    private func show(_ lines: [String], _ area: inout LiveArea) {
        guard Console.error.canRedraw, Console.error.isForeground || lines.isEmpty else { return }
        let frame = area.frame(permanent: [], live: lines, width: Console.error.size.columns)
        if let frame { Console.error.write(frame) }
    }

    private func tell(_ result: Result<Checksum, any Error>) -> ExitCode {
        switch result {
        case .success(let found) where found == expected:
            if writesJSON { return write(object("verified", ["checksum": .string("\(found)")])) ? .success : .disk }
            return isQuiet || write("\(file.printable): OK, \(found)") ? .success : .disk
        case .success(let found):
            fail("its checksum is \(found), and \(expected.hexadecimal) was asked for")
            return .checksum
        case .failure(let error as DownloadError):
            fail(error.message, error.code)
            return ExitCode(error.code)
        case .failure(let error):
            fail("\(error)", .fileSystem)
            return .other
        }
    }

    private func fail(_ message: String, _ code: DownloadError.Code = .checksum) {
        if writesJSON {
            write(
                object(
                    "failed",
                    [
                        "code": .string("\(code)"), "message": .string(message),
                        "exitStatus": .integer(Int64(ExitCode(code).code)),
                    ]
                )
            )
        }
        Console.error.write("headrace: \(file): \(message)".printable + "\n")
    }

    private func object(_ event: String, _ members: KeyValuePairs<String, JSONObject.Value>) -> String {
        var object = JSONObject(["event": .string(event), "file": .string(file)])
        for (name, value) in members { object.append(name, value) }
        return object.text
    }

    @discardableResult
    private func write(_ line: String) -> Bool { Console.output.write(line + "\n") }
}
