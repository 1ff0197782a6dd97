import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// Requests that read only the head of the response.
@Suite(.timeLimit(.minutes(4)))
struct ProbeTests {
    private let file = Resource(size: 300_000, etag: "\"v1\"")

    private func configuration(_ change: (inout DownloadConfiguration) -> Void = { _ in }) -> DownloadConfiguration {
        DownloadConfiguration {
            $0.retryPolicy.baseDelay = .zero
            $0.proxy = .none
            change(&$0)
        }
    }

    /// Probes one request with a manager of its own, and checks that nothing is written or added.
    private func probe(
        _ response: Response,
        path: String = "/a/file.bin?key=1",
        _ change: (inout DownloadRequest, FaultServer) -> Void = { _, _ in },
        configuration: DownloadConfiguration? = nil,
        existing names: [String] = []
    ) async throws -> (probe: DownloadProbe, requests: [RecordedRequest], folder: URL) {
        try await withFaultServer(response) { server in
            try await withTemporaryDirectory { folder in
                for name in names { try Data("old".utf8).write(to: folder.appending(path: name)) }
                var request = DownloadRequest(server.url(path), to: .directory(folder))
                change(&request, server)
                return try await withDownloadManager(configuration ?? self.configuration()) { manager in
                    let probe = try await manager.probe(request)
                    #expect(await manager.downloads.isEmpty)
                    let left = try FileProbe.names(in: folder)
                    #expect(left == names.sorted())
                    return (probe, server.requests, folder)
                }
            }
        }
    }

    @Test func `a probe fails at the time limit of a download`() async throws {
        try await withFaultServer(.raw("x").stalled(after: 0)) { server in
            try await withDownloadManager(configuration { $0.timeLimit = .milliseconds(50) }) { manager in
                let request = DownloadRequest(server.url("/a"), to: .directory(URL(filePath: "/folder")))
                let error = await #expect(throws: DownloadError.self) { try await manager.probe(request) }
                #expect(error?.code == .timedOut && error?.url == request.url, "\(String(describing: error))")
            }
        }
    }

    @Test func `a probe returns the size, the name and the validators after all redirects`() async throws {
        let digest = "sha-256=:\(Data(repeating: 7, count: 32).base64EncodedString()):"
        let named = Response.file(file).header("Content-Disposition", "attachment; filename=b.bin")
            .header("Repr-Digest", digest)
        let (probe, requests, folder) = try await probe(
            .routes(["/a/file.bin": .redirect(to: "/there"), "/there": named])
        )
        #expect(requests.map(\.path) == ["/a/file.bin", "/there"])
        #expect(requests.map(\.method) == ["GET", "GET"])
        #expect(probe.source.path() == "/a/file.bin")
        #expect(probe.url.path() == "/there")
        #expect(probe.status == 200)
        #expect(probe.file.path() == folder.appending(path: "b.bin").path())
        #expect(probe.outcome == .creates)
        #expect(probe.totalBytes == 300_000)
        #expect(probe.acceptsRanges == true)
        #expect(probe.isResumable)
        #expect(probe.entityTag == "\"v1\"")
        #expect(probe.lastModified == Date(timeIntervalSince1970: 1_735_689_600))
        #expect(probe.mediaType == "application/octet-stream")
        #expect(probe.checksum == Checksum(.sha256, bytes: [UInt8](repeating: 7, count: 32)))
    }

    @Test func `unknown properties are nil`() async throws {
        let (probe, _, _) = try await probe(.ok("hello").chunked())
        #expect(probe.file.lastPathComponent == "file.bin")
        #expect(probe.totalBytes == nil)
        #expect(probe.acceptsRanges == nil)
        #expect(!probe.isResumable)
        #expect(probe.entityTag == nil && probe.lastModified == nil && probe.checksum == nil)
    }

    @Test(
        arguments: [
            (.unlessCurrent, .rename, "savesBesideIfChanged file (2).bin"),
            (.always, .rename, "savesBeside file (2).bin"),
            (.unlessCurrent, .overwrite, "replacesIfChanged"), (.always, .overwrite, "replaces"),
            (.ifChanged, .rename, "replacesIfChanged"), (.ifChanged, .fail, "replacesIfChanged"),
            (.always, .skip, "skips"), (.unlessCurrent, .skip, "skips"), (.always, .fail, "fails"),
            (.unlessCurrent, .fail, "fails"),
        ] as [(DownloadRequest.RefetchPolicy, DownloadRequest.ConflictPolicy, String)]
    )
    func `the outcome for an existing file follows from the policies`(
        _ refetchPolicy: DownloadRequest.RefetchPolicy,
        _ conflictPolicy: DownloadRequest.ConflictPolicy,
        _ expected: String
    ) async throws {
        let (probe, _, _) = try await probe(
            .file(file),
            { request, _ in (request.refetchPolicy, request.conflictPolicy) = (refetchPolicy, conflictPolicy) },
            existing: ["file.bin", "file (1).bin"]
        )
        let found =
            switch probe.outcome {
            case .savesBeside(let file): "savesBeside \(file.lastPathComponent)"
            case .savesBesideIfChanged(let file): "savesBesideIfChanged \(file.lastPathComponent)"
            default: "\(probe.outcome)"
            }
        #expect(found == expected)
    }

    @Test(arguments: [DownloadRequest.ConflictPolicy.rename, .skip, .overwrite, .fail], [true, false])
    func `the outcome for a link with the name is that of a download`(
        _ policy: DownloadRequest.ConflictPolicy,
        _ isNamed: Bool
    ) async throws {
        try await withTemporaryDirectory { folder in
            try await withFaultServer(.file(file)) { server in
                let path = folder.appending(path: "file.bin")
                try FileManager.default.createSymbolicLink(atPath: path.path, withDestinationPath: "missing")
                var request = DownloadRequest(server.url("/file.bin"), to: isNamed ? .file(path) : .directory(folder))
                (request.conflictPolicy, request.refetchPolicy) = (policy, .always)
                try await withDownloadManager { [request] manager in
                    let outcome = try await manager.probe(request).outcome
                    let file = try? await manager.download(request).value
                    switch outcome {
                    case .fails: #expect(file == nil)
                    case .savesBeside(let other): #expect(file?.lastPathComponent == other.lastPathComponent)
                    default: #expect(file?.lastPathComponent == "file.bin")
                    }
                }
            }
        }
    }

    @Test func `a directory with the name makes a download fail`() throws {
        let request = DownloadRequest(try #require(URL(string: "http://h/a")), to: .file(URL(filePath: "/tmp/a")))
        #expect(DownloadProbe.Outcome(of: request, on: .directory, isBlocked: true, freeName: nil) == .fails)
        #expect(DownloadProbe.Outcome(of: request, on: nil, isBlocked: false, freeName: nil) == .creates)
    }

    @Test func `transient failures are retried, and mirrors follow`() async throws {
        let response = Response.routes([
            "/a/file.bin": .status(404),
            "/mirror": .answering { $0.attempt < 2 ? .status(503) : .file(Resource(size: 10)) },
        ])
        let (probe, requests, _) = try await probe(response, { $0.mirrors = [$1.url("/mirror")] })
        #expect(requests.map(\.path) == ["/a/file.bin", "/mirror", "/mirror", "/mirror"])
        #expect(probe.source.path() == "/mirror")
        #expect(probe.totalBytes == 10)
    }

    @Test(arguments: [nil, Duration.seconds(30)])
    func `a requested delay that is too long is an error at once`(_ timeLimit: Duration?) async throws {
        let seconds = timeLimit == nil ? 61 : 40
        let error = await #expect(throws: DownloadError.self) {
            try await probe(
                .status(503, headers: ["Retry-After": "\(seconds)"]),
                configuration: configuration { $0.timeLimit = timeLimit }
            )
        }
        #expect(error?.statusCode == 503 && error?.retryAfter == .seconds(seconds))
        #expect(error?.message.hasSuffix(" It asks to wait \(seconds) s before the next request.") == true)
    }

    @Test(arguments: [
        (Response.status(404), DownloadError.Code.httpStatus), (.status(401), .httpStatus),
        (.redirect(to: "ftp://h/"), .redirect), (.ok("hello").claimingLength("x"), .protocolViolation),
    ])
    func `a response that a download rejects is an error`(_ response: Response, _ code: DownloadError.Code) async throws
    {
        let error = await #expect(throws: DownloadError.self) { try await probe(response) }
        #expect(error?.code == code)
        #expect(error?.url?.path() == "/a/file.bin")
    }

    @Test func `an unexpected size and a file above the limit are errors`() async throws {
        let wrong = await #expect(throws: DownloadError.self) {
            try await probe(.file(file), { request, _ in request.expectedSize = 5 })
        }
        #expect(wrong?.code == .checksum)
        let large = await #expect(throws: DownloadError.self) {
            try await probe(.file(file), configuration: configuration { $0.maxFileSize = 10 })
        }
        #expect(large?.code == .fileTooLarge)
    }

    @Test func `the retry policy decides about failures`() async throws {
        let failures = Locked<[Int]>([])
        let error = await #expect(throws: DownloadError.self) {
            try await probe(
                .status(404),
                configuration: configuration {
                    $0.retryPolicy.decide = { _, count in
                        failures.withLock { $0.append(count) }
                        return count < 3 ? .retry(after: .zero) : .fail
                    }
                }
            )
        }
        #expect(error?.statusCode == 404)
        #expect(failures.withLock { $0 } == [1, 2, 3])
    }

    /// How a probe is stopped while it waits for a response.
    enum Stop: CaseIterable {
        case cancellation
        case shutdown
    }

    @Test(arguments: Stop.allCases)
    func `a waiting probe ends when its task is cancelled or the manager is shut down`(_ stop: Stop) async throws {
        let gate = try Gate()
        defer { gate.open() }
        try await withFaultServer(.raw("x").held(after: 0, until: gate)) { server in
            try await withTemporaryDirectory { folder in
                try await withDownloadManager(configuration()) { manager in
                    let request = DownloadRequest(server.url("/x"), to: .directory(folder))
                    await withTaskGroup(of: Void.self) { group in
                        group.addTask {
                            switch stop {
                            case .cancellation:
                                await #expect(throws: CancellationError.self) { try await manager.probe(request) }
                            case .shutdown:
                                let error = await #expect(throws: DownloadError.self) {
                                    try await manager.probe(request)
                                }
                                #expect(error?.code == .shutDown)
                            }
                        }
                        try? await server.waitForRequests(count: 1)
                        if stop == .cancellation { group.cancelAll() } else { await manager.shutdown() }
                    }
                    if stop == .shutdown {
                        let error = await #expect(throws: DownloadError.self) { try await manager.probe(request) }
                        #expect(error?.code == .shutDown)
                    }
                }
            }
        }
    }

    @Test func `a probe waits for a network that the request may use`() async throws {
        let network = NetworkMonitor(fixed: NetworkPath(isUp: true, interface: .cellular, isExpensive: true))
        let transport = FakeTransport { _ in FakeTransport.Reply(fields: [("Content-Length", "3")], body: [1, 2, 3]) }
        let manager = try await DownloadManager(
            environment: TransferEnvironment(
                configuration: DownloadConfiguration(),
                transport: transport,
                clock: AnyClock(TestClock()),
                network: network
            )
        )
        var request = DownloadRequest(try #require(URL(string: "http://h/a")), to: .directory(URL(filePath: "/none")))
        request.networkPolicy = .notExpensive
        try await withThrowingTaskGroup(of: DownloadProbe.self) { [request] group in
            group.addTask { try await manager.probe(request) }
            for _ in 0..<100 { await Task.yield() }
            #expect(transport.requests.isEmpty)
            network.update(NetworkPath(isUp: true, interface: .wifi))
            let probe = try await group.next()
            #expect(probe?.totalBytes == 3)
        }
        await manager.shutdown()
    }

    @Test func `an invalid request is rejected before anything is sent`() async throws {
        let error = await #expect(throws: DownloadError.self) {
            try await probe(.ok(""), { request, _ in request.url = URL(filePath: "/etc/passwd") })
        }
        #expect(error?.code == .invalidRequest)
    }
}
