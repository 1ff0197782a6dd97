import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// A transport that the conformance suite runs on.
enum TestedTransport: String, Sendable, CustomTestStringConvertible {
    case libcurl
    case urlSession = "URLSession"
    case fake = "the fake"

    /// The transports in this build.
    static var all: [TestedTransport] {
        #if os(Linux) && URLSession
        [.libcurl, .urlSession, .fake]
        #elseif os(Linux)
        [.libcurl, .fake]
        #else
        [.urlSession, .fake]
        #endif
    }

    var testDescription: String { rawValue }

    /// A test that a transport does not have to pass, and why.
    struct Exclusion: Sendable {
        fileprivate let transport: TestedTransport
        fileprivate let reason: String
        fileprivate var isInForce = true

        static func fake(_ reason: String) -> Exclusion { Exclusion(transport: .fake, reason: reason) }

        static func urlSession(_ reason: String) -> Exclusion { Exclusion(transport: .urlSession, reason: reason) }

        /// An exclusion for defects of swift-corelibs-foundation.
        static func urlSessionOnLinux(_ reason: String) -> Exclusion {
            #if os(Linux)
            urlSession(reason)
            #else
            Exclusion(transport: .urlSession, reason: reason, isInForce: false)
            #endif
        }
    }

    private static let logged = Locked<Set<String>>([])

    /// Ends the test and logs the reason if this transport is excluded.
    func run(except exclusions: Exclusion...) throws {
        guard let exclusion = exclusions.first(where: { $0.isInForce && $0.transport == self }) else { return }
        // Logged once for all arguments, in a form that can be searched for.
        let line = "excluded: \(rawValue): \(Test.current?.displayName ?? ""): \(exclusion.reason)"
        if Self.logged.withLock({ $0.insert(line).inserted }) { print(line) }
        try Test.cancel(Comment(rawValue: exclusion.reason))
    }

    /// Runs the body with a transport and shuts it down afterwards.
    func withTransport<Result>(
        playing response: Response = .ok(),
        _ body: (any Transport) async throws -> Result
    ) async throws -> Result {
        let transport = try make(playing: response)
        do {
            let result = try await body(transport)
            await transport.shutdown()
            return result
        } catch {
            await transport.shutdown()
            throw error
        }
    }

    /// Runs the body with a transport and a server that sends this response, or with a fake that plays both.
    func withServer<Result>(
        _ response: Response,
        isListening: Bool = true,
        _ body: (FaultServer, any Transport) async throws -> Result
    ) async throws -> Result {
        try await withFaultServer(response, isListening: isListening) { server in
            try await withTransport(playing: response) { try await body(server, $0) }
        }
    }

    private func make(playing response: Response) throws -> any Transport {
        if self == .fake { return FakeTransport(playing: response) }
        return try DownloadConfiguration {
            $0.userAgent = "test"
            $0.proxy = .none
            $0.transport = self == .libcurl ? .libcurl : .urlSession
        }.makeTransport()
    }
}
