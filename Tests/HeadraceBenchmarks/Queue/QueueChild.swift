import Headrace
import HeadracePlatform

/// The implementation of the hidden verb `queue-child`: one manager in its own process, to measure it alone.
enum QueueChild {
    static let verb = "queue-child"

    /// The figures that a child has measured, one per line.
    struct Figures: Sendable {
        private var values: [Substring: Double] = [:]

        init(_ text: String) {
            for line in text.split(separator: "\n") {
                let words = line.split(separator: "=")
                if words.count == 2 { values[words[0]] = Double(words[1]) }
            }
        }

        subscript(name: String) -> Double {
            get throws {
                guard let value = values[name[...]] else { throw BenchmarkError("the process did not report \(name)") }
                return value
            }
        }
    }

    static func main(_ arguments: [String]) throws -> Int32 {
        // The only task of the process, which ends with it: the other verbs are synchronous.
        Task { exit(await status(of: arguments)) }
        while true { pause() }
    }

    private static func status(of arguments: [String]) async -> Int32 {
        do {
            try await run(arguments)
            return 0
        } catch let error as BenchmarkError {
            Console.print(error.message)
            return error.status
        } catch {
            Console.print("\(error)")
            return 1
        }
    }

    private static func run(_ arguments: [String]) async throws {
        var rest = arguments[...]
        func next() throws -> String {
            guard let argument = rest.popFirst() else { throw BenchmarkError.usage("queue-child lacks an argument") }
            return argument
        }
        func count() throws -> Int { try OptionValue.count(try next(), "queue-child") }
        switch try next() {
        case "add": try await add(try count(), to: try next(), rest.first)
        case "restore": try await restore(try count(), from: try next())
        case "verbs": try await verbs(in: try count(), to: try next(), rest.first)
        case "run": try await runAtOnce(try count(), to: try next(), from: try next())
        case let other: throw BenchmarkError.usage("queue-child does not know \(other)")
        }
    }

    // MARK: Measuring

    private static func add(_ count: Int, to folder: String, _ registry: String?) async throws {
        let manager = try await DownloadManager(configuration: idle(registry))
        let before = ProcessUsage.residentBytes
        let requests = requests(count, to: folder)
        let between = ProcessUsage.residentBytes
        let start = MonotonicTime.now
        let added = try await manager.download(requests).count
        let seconds = MonotonicTime.now - start
        try await check(added, is: count, in: manager)
        publish("seconds", seconds)
        publish("bytes", Double(ProcessUsage.residentBytes - before) / Double(count))
        publish("requestBytes", Double(between - before) / Double(count))
        await manager.shutdown()
    }

    private static func restore(_ count: Int, from registry: String) async throws {
        let before = ProcessUsage.residentBytes
        let start = MonotonicTime.now
        let manager = try await DownloadManager(configuration: idle(registry))
        let seconds = MonotonicTime.now - start
        try await check(count, is: count, in: manager)
        publish("seconds", seconds)
        publish("bytes", Double(ProcessUsage.residentBytes - before) / Double(count))
        await manager.shutdown()
    }

    private static func verbs(in count: Int, to folder: String, _ registry: String?) async throws {
        let manager = try await DownloadManager(configuration: idle(registry))
        var verbs = QueueVerbs(try await manager.download(requests(count, to: folder)), of: manager)
        let directory = directory(folder)
        for name in QueueVerbs.names { publish(name, try await verbs.cost(of: name) { request($0, to: directory) }) }
        await manager.shutdown()
    }

    private static func runAtOnce(_ count: Int, to folder: String, from server: String) async throws {
        DescriptorLimit.raise()
        let before = ProcessUsage.residentBytes
        let watch = try DescriptorWatch()
        let manager = try await DownloadManager(
            configuration: .init {
                $0.maxConcurrentDownloads = .fixed(count)
                $0.retryPolicy.maxFailures = 0
            }
        )
        let start = MonotonicTime.now
        let directory = directory(folder)
        let requests = (0..<count).map { request(to: "\(server)/\($0)", in: directory) }
        let downloads = try await manager.download(requests)
        await manager.waitUntilIdle()
        publish("seconds", MonotonicTime.now - start)
        publish("descriptors", Double(watch.peak - count))
        publish("bytes", Double(ProcessUsage.peakResidentBytes - before) / Double(count))
        publish("unfinished", Double(downloads.count { $0.state.kind != .finished }))
        for download in downloads {
            if case .failed(let error) = download.state { throw BenchmarkError("a download failed: \(error.message)") }
        }
        await manager.shutdown()
    }

    // MARK: Helpers

    /// Returns a configuration for a manager that never starts a download.
    private static func idle(_ registry: String?) -> DownloadConfiguration {
        .init {
            $0.startsDownloads = false
            $0.registryDirectory = registry.map { URL(filePath: $0, directoryHint: .isDirectory) }
        }
    }

    /// Creates the requests like an application, with one shared value for the directory.
    private static func requests(_ count: Int, to folder: String) -> [DownloadRequest] {
        let directory = directory(folder)
        return (0..<count).map { request($0, to: directory) }
    }

    private static func directory(_ path: String) -> DownloadRequest.Destination {
        .directory(URL(filePath: path, directoryHint: .isDirectory))
    }

    /// Creates a request that is never sent.
    private static func request(_ number: Int, to directory: DownloadRequest.Destination) -> DownloadRequest {
        let text = "https://downloads.example.org/archive/2025/volume-\(number / 1_000)/document-\(number).tar.gz"
        return request(to: text, in: directory)
    }

    private static func request(to text: String, in directory: DownloadRequest.Destination) -> DownloadRequest {
        guard let url = URL(string: text) else { preconditionFailure("\(text) is no URL") }
        return DownloadRequest(url, to: directory)
    }

    private static func check(_ added: Int, is count: Int, in manager: DownloadManager) async throws {
        let listed = await manager.downloads.count
        guard added == count, listed == count else {
            throw BenchmarkError("\(count) downloads became \(added), and \(listed) in the queue")
        }
    }

    private static func publish(_ name: String, _ value: Double) {
        Console.print("\(name)=\(value)")
    }
}
