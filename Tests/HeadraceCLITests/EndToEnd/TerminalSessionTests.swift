#if os(Linux)
import HeadracePlatform
import HeadraceTestSupport
import Testing

/// Checks the progress display on an emulated terminal.
///
/// With `HEADRACE_RECORDING` set to a path, as by `.ci/record`, a slower session is recorded there as a picture.
@Suite(.timeLimit(.minutes(4)))
struct TerminalSessionTests {
    private static let columns = 84
    private let recording = ProcessInfo.processInfo.environment["HEADRACE_RECORDING"]

    @Test func `a file that is written to the terminal is not overwritten by progress lines`() async throws {
        let text = (0..<12).map { "line \($0)\n" }.joined()
        // Takes longer than three frames.
        try await withFaultServer(.ok(.bytes(Array(text.utf8))).limited(bytesPerSecond: 250)) { server in
            try await withTemporaryDirectory { folder in
                let terminal = try PseudoTerminal(columns: UInt16(Self.columns), rows: 24)
                let words = ["get", "-o", "-", server.url("/a").absoluteString]
                var process = try ToolProcess(words, in: folder, terminal: terminal, after: "exec >&2")
                let result = try await process.result()
                #expect(result.status == 0)
                #expect(!result.errors.contains("\u{1B}["))
                for line in text.split(separator: "\n") { #expect(result.errors.contains(line)) }
            }
        }
    }

    @Test func `running downloads are redrawn in place, and the lines of finished ones stay above`() async throws {
        let unit: Int64 = recording == nil ? 40_000 : 1 << 20
        let sizes: [(name: String, size: Int64, rate: Int64)] = [
            ("atlas.pmtiles", 42, 12), ("voice-model.gguf", 68, 14), ("journal-2026-11.pdf", 9, 6),
            ("film.mp4", 33, 13),
        ]
        let routes = Dictionary(
            uniqueKeysWithValues: sizes.map { name, size, rate in
                (
                    "/\(name)",
                    Response.ok(.pattern(Pattern(seed: 1), 0..<size * unit)).limited(bytesPerSecond: rate << 20)
                )
            }
        )
        try await withFaultServer(.routes(routes)) { server in
            try await withTemporaryDirectory { folder in
                let list = sizes.map { server.url("/\($0.name)").absoluteString + "\n" }.joined()
                try Data(list.utf8).write(to: folder.appending(path: "files.txt"))
                let terminal = try PseudoTerminal(columns: UInt16(Self.columns), rows: 24)
                let arguments = ["get", "-j", "3", "-x", "1", "-i", "files.txt"]
                var process = try ToolProcess(
                    arguments,
                    in: folder,
                    terminal: terminal,
                    environment: ["LC_ALL=C.UTF-8"]
                )
                let result = try await process.result()
                #expect(result.status == 0)

                var screen = TerminalScreen(["$ headrace get -j 3 -i files.txt"])
                var frames = [screen.lines]
                for frame in result.errors.split(separator: "\u{1B}[?2026h") {
                    screen.write(String(frame))
                    frames.append(screen.lines)
                }
                #expect(screen.unknown == [])
                for lines in frames {
                    #expect(lines.allSatisfy { $0.count <= Self.columns }, "\(lines)")
                    // Three running downloads and the total, below the ended ones.
                    let ended = sizes.count { file in lines.contains { $0.hasPrefix("\(file.name): ") } }
                    #expect(lines.count <= 1 + ended + 3 + 1, "\(lines)")
                }
                let last = try #require(frames.last)
                #expect(last.count == 1 + sizes.count + 1, "\(last)")
                #expect(last.last?.hasPrefix("4 of 4 finished") == true)
                guard let recording else { return }
                try Data(SessionRecording(columns: Self.columns, frames: frames).svg.utf8)
                    .write(to: URL(filePath: recording))
            }
        }
    }
}
#endif
