import HeadracePlatform
import HeadraceTestSupport
import Testing

/// Runs the built tool as a child process, with its output in files that are read after it has ended.
struct ToolProcess: ~Copyable {
    /// The exit status and the output.
    struct Result {
        /// The exit status; `nil` if a signal killed the tool.
        let status: Int?
        let output: String
        let errors: String

        var outputLines: [String] { output.split(separator: "\n").map(String.init) }
        var errorLines: [String] { errors.split(separator: "\n").map(String.init) }
    }

    private var process: ChildProcess
    private let files: URL
    private let terminal: PseudoTerminal?

    var id: pid_t { process.id }

    /// The options of the address sanitizer, with which the tool is built if these tests are.
    private static let sanitizerOptions =
        ProcessInfo.processInfo.environment["ASAN_OPTIONS"].map { ["ASAN_OPTIONS=\($0)"] } ?? []

    /// Starts the tool in `folder`, with its input and output in hidden files there, after the shell has run `preparation`.
    init(
        _ arguments: [String],
        in folder: URL,
        input: String = "",
        output: String? = nil,
        terminal: PseudoTerminal? = nil,
        environment: [String] = [],
        after preparation: String = ":"
    ) throws {
        files = folder
        self.terminal = terminal
        try Data(input.utf8).write(to: folder.appending(path: ".stdin"))
        // Opening the terminal for reading makes it the terminal of the session, so that Control-C sends a signal.
        let claim = terminal.map { ": < \($0.path); " } ?? ""
        process = try ChildProcess(
            // The shell changes the directory, because Swift does not see the spawn action for it.
            [
                "/bin/sh", "-c", "\(claim)\(preparation); cd \"$0\" && exec \"$@\"", folder.path(percentEncoded: false),
                Self.toolPath,
            ] + arguments,
            environment: ["TERM=xterm", "PATH=/usr/bin:/bin"] + Self.sanitizerOptions + environment,
            streams: [
                folder.appending(path: ".stdin").path(percentEncoded: false),
                output ?? folder.appending(path: ".stdout").path(percentEncoded: false),
                terminal?.path ?? folder.appending(path: ".stderr").path(percentEncoded: false),
            ],
            startsSession: terminal != nil
        )
    }

    func send(_ signal: Int32) {
        process.send(signal)
    }

    /// Suspends until the tool has ended; its output is read only if it is text.
    mutating func result(readsOutput: Bool = true) async throws -> Result {
        var screen: [UInt8] = []
        let end = try await process.waitForEnd { if let terminal { screen += terminal.read() } }
        let status: Int? = if case .exit(let status) = end { status } else { nil }
        return Result(
            status: status,
            output: readsOutput ? try Self.text(files.appending(path: ".stdout")) : "",
            errors: terminal == nil
                ? try Self.text(files.appending(path: ".stderr")) : String(decoding: screen, as: UTF8.self)
        )
    }

    /// Runs the tool to completion.
    static func run(_ arguments: String..., in folder: URL, input: String = "") async throws -> Result {
        var process = try ToolProcess(arguments, in: folder, input: input)
        return try await process.result()
    }

    private static func text(_ file: URL) throws -> String {
        guard let data = try? Data(contentsOf: file) else { return "" }
        return try #require(String(validating: data, as: UTF8.self))
    }

    /// The path of the tool, which is beside the test bundle.
    static var toolPath: String {
        #if os(Linux)
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = max(0, readlink("/proc/self/exe", &buffer, buffer.count))
        let bundle = String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
        #else
        let bundle =
            CommandLine.arguments.first { $0.contains(".xctest") }?.components(separatedBy: ".xctest").first ?? ""
        #endif
        return (bundle.lastIndex(of: "/").map { bundle[...$0] } ?? "") + "headrace"
    }
}
