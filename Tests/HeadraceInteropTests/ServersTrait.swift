import Testing

/// Runs all servers once for a suite, and prints their versions.
struct ServersTrait: SuiteTrait, TestScoping {
    @TaskLocal private static var running: [WebServer: RunningServer] = [:]

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        print("interop: proxy: \(try await ForwardProxy.program.version())")
        try await Self.run(WebServer.allCases[...], beside: [:], function)
    }

    private static func run(
        _ servers: ArraySlice<WebServer>,
        beside others: [WebServer: RunningServer],
        _ body: () async throws -> Void
    ) async throws {
        guard let server = servers.first else { return try await $running.withValue(others) { try await body() } }
        print("interop: \(server.rawValue): \(try await server.version())")
        try await server.run { running in
            try await run(servers.dropFirst(), beside: others.merging([server: running]) { $1 }, body)
        }
    }

    /// Returns the running server of a kind.
    static func server(_ kind: WebServer) throws -> RunningServer {
        try #require(running[kind], "\(kind.rawValue) does not run")
    }
}

extension Trait where Self == ServersTrait {
    /// Runs all servers once for the suite.
    static var servers: Self { ServersTrait() }
}
