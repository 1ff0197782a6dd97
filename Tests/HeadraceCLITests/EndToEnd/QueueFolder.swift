import HeadracePlatform
import HeadraceTestSupport
import Testing

/// A folder with a queue, and the built tool to run commands on it.
struct QueueFolder {
    /// A download as printed by `queue list --json`.
    struct Line: Decodable {
        let place: Int
        let number: Int
        let id: String
        let state: String
        let url: String
        let priority: Int
        let title: String?
        let totalBytes: Int64?
        let file: String?
        let code: String?
    }

    let url: URL
    private let registry: String

    init(_ url: URL, registry: String = "list") {
        self.url = url
        self.registry = registry
    }

    /// The directory of the downloaded files.
    var files: URL { url.appending(path: "files") }

    /// The path of the directory of the queue.
    var registryPath: String { url.appending(path: registry).path(percentEncoded: false) }

    /// Runs `headrace queue` with these arguments to completion.
    func queue(_ words: String...) async throws -> ToolProcess.Result {
        try await queue(words)
    }

    /// Runs `headrace queue` with these arguments to completion, after the shell has run `preparation`.
    func queue(_ words: [String], after preparation: String = ":") async throws -> ToolProcess.Result {
        var process = try ToolProcess(arguments(words), in: url, after: preparation)
        return try await process.result()
    }

    /// Adds URLs, and returns their ids.
    func add(_ urls: URL..., options: [String] = []) async throws -> [String] {
        try await add(urls, options: options)
    }

    func add(_ urls: [URL], options: [String] = []) async throws -> [String] {
        let words = ["add", "-d", "files"] + options + urls.map(\.absoluteString)
        var process = try ToolProcess(arguments(words), in: url)
        let result = try await process.result()
        try #require(result.status == 0, "\(result.errors)")
        return result.outputLines
    }

    /// Starts `headrace queue run`, with its output in a separate folder, after the shell has run `preparation`.
    func run(
        _ options: String...,
        terminal: PseudoTerminal? = nil,
        environment: [String] = [],
        after preparation: String = ":"
    ) throws -> ToolProcess {
        let place = url.appending(path: "run-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
        // A server that a test holds back must not count as stalled.
        let words = ["queue", "run", "--registry", registryPath, "--timeout", "600"]
        return try ToolProcess(
            words + options,
            in: place,
            terminal: terminal,
            environment: environment,
            after: preparation
        )
    }

    func list() async throws -> [Line] {
        let result = try await queue("list", "--json")
        try #require(result.status == 0, "\(result.errors)")
        return try result.outputLines.map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
    }

    /// The states in the order of the queue.
    func states() async throws -> [String] { try await list().map(\.state) }

    /// Suspends until the queue satisfies the condition.
    func waitUntil(_ isWanted: ([Line]) -> Bool) async throws {
        while try await !isWanted(list()) { try await Task.sleep(for: .milliseconds(20)) }
    }

    /// Suspends until the first downloaded file has content.
    func waitForFirstPart(size: Int64) async throws {
        while true {
            let name = (try? FileProbe.names(in: files))?.first
            guard name.flatMap({ FileProbe.size(of: files.appending(path: $0)) }) != size else { return }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    private func arguments(_ words: [String]) -> [String] {
        ["queue"] + words.prefix(1) + ["--registry", registry] + words.dropFirst()
    }
}

/// Runs the body with a queue in its own directory.
func withQueueFolder(registry: String = "list", _ body: (QueueFolder) async throws -> Void) async throws {
    try await withTemporaryDirectory { try await body(QueueFolder($0, registry: registry)) }
}
