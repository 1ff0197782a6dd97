import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The built tool as a child process, with its output in files that are read when it has ended.
struct ToolProcess: ~Copyable {
    /// How the tool ended and what it said.
    struct Result {
        /// The exit status; nil where a signal killed it.
        let status: Int?
        let output: String
        let errors: String

        var outputLines: [String] { output.split(separator: "\n").map(String.init) }
        var errorLines: [String] { errors.split(separator: "\n").map(String.init) }
    }

    let id: pid_t
    private let files: URL
    private let terminal: PseudoTerminal?
    private var isReaped = false

    /// Starts the tool in `folder`, which gets its input and output as hidden files.
    init(
        _ arguments: [String],
        in folder: URL,
        input: String = "",
        output: String? = nil,
        terminal: PseudoTerminal? = nil,
        environment: [String] = []
    ) throws {
        files = folder
        self.terminal = terminal
        try Data(input.utf8).write(to: folder.appending(path: ".stdin"))
        id = try Self.spawn(
            // The shell changes the directory and becomes the tool: the call for it is not visible from Swift.
            ["/bin/sh", "-c", "cd \"$0\" && exec \"$@\"", folder.path(percentEncoded: false), Self.toolPath]
                + arguments,
            streams: [
                folder.appending(path: ".stdin").path(percentEncoded: false),
                output ?? folder.appending(path: ".stdout").path(percentEncoded: false),
                terminal?.path ?? folder.appending(path: ".stderr").path(percentEncoded: false),
            ],
            environment: environment
        )
    }

    deinit {
        guard !isReaped else { return }
        kill(id, SIGKILL)
        waitpid(id, nil, 0)
    }

    func send(_ signal: Int32) {
        kill(id, signal)
    }

    /// Suspends until the tool has ended.
    mutating func result() async throws -> Result {
        var status: Int32 = 0
        var screen: [UInt8] = []
        while waitpid(id, &status, WNOHANG) == 0 {
            if let terminal { screen += terminal.read() }
            // No thread is blocked for a child: the machine may have two.
            try await Task.sleep(for: .milliseconds(3))
        }
        isReaped = true
        if let terminal { screen += terminal.read() }
        let wasKilled = status & 0x7F != 0
        return Result(
            status: wasKilled ? nil : Int(status >> 8 & 0xFF),
            output: try Self.text(files.appending(path: ".stdout")),
            errors: terminal == nil
                ? try Self.text(files.appending(path: ".stderr")) : String(decoding: screen, as: UTF8.self)
        )
    }

    /// Runs the tool to its end.
    static func run(_ arguments: String..., in folder: URL, input: String = "") async throws -> Result {
        var process = try ToolProcess(arguments, in: folder, input: input)
        return try await process.result()
    }

    private static func text(_ file: URL) throws -> String {
        guard let data = try? Data(contentsOf: file) else { return "" }
        return try #require(String(validating: data, as: UTF8.self))
    }

    /// The tool lies beside the test bundle.
    private static var toolPath: String {
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

    private static func spawn(
        _ arguments: [String],
        streams: [String],
        environment: [String]
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (descriptor, path) in streams.enumerated() {
            let mode = descriptor == 0 ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC
            posix_spawn_file_actions_addopen(&actions, Int32(descriptor), path, mode, 0o600)
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // A test runner in the background ignores SIGINT, and its children would as well.
        var signals = sigset_t()
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF) | Int16(POSIX_SPAWN_SETSIGMASK))
        var id: pid_t = 0
        var words = arguments.map { strdup($0) } + [nil]
        var environment = (["TERM=xterm", "PATH=/usr/bin:/bin"] + environment).map { strdup($0) } + [nil]
        defer { for word in words + environment { free(word) } }
        let code = posix_spawn(&id, arguments[0], &actions, &attributes, &words, &environment)
        try #require(code == 0, "\(arguments[0]) cannot be started: \(String(cString: strerror(code)))")
        return id
    }
}
