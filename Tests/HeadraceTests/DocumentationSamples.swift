import Foundation
import Headrace
import HeadraceFoundation

// The documentation's samples, verbatim: a sample that does not compile here does not belong there.

private func landingPage(_ url: URL, _ folder: URL) async throws {
    let manager = try await DownloadManager()
    let download = try await manager.download(DownloadRequest(url, to: .directory(folder)))
    for await progress in download.progress {
        print(progress.fractionCompleted ?? 0)
    }
    let file = try await download.value
    await manager.shutdown()
    _ = file
}

private func oneFile(_ url: URL, _ folder: URL) async throws -> URL {
    let file = try await withDownloadManager { manager in
        let download = try await manager.download(DownloadRequest(url, to: .directory(folder)))
        return try await download.value
    }
    return file
}

private func progress(of download: Download) async {
    for await progress in download.progress {
        print(progress.bytesReceived, progress.totalBytes ?? 0, progress.timeRemaining ?? .zero)
    }
}

private func manyFiles(_ urls: [URL], _ folder: URL) async throws {
    let manager = try await DownloadManager(configuration: .init { $0.maxConcurrentDownloads = 3 })
    let downloads = try await manager.download(urls.map { DownloadRequest($0, to: .directory(folder)) })
    for download in downloads {
        do {
            print(try await download.value.lastPathComponent)
        } catch let error as DownloadError {
            print(error)
        }
    }
}

private func bottlenecks(of download: Download) async {
    for await event in download.events {
        if case .limited(by: let bottleneck?) = event { print("The speed is limited by: \(bottleneck)") }
    }
}

private func stopAndGoOn(_ download: Download) async {
    await download.pause()
    await download.resume()
}

private func list(in folder: URL) async throws {
    let configuration = DownloadConfiguration {
        $0.registryDirectory = folder.appending(path: "downloads")
    }
    let manager = try await DownloadManager(configuration: configuration)
    for download in await manager.downloads {
        print(download.id, download.state)
    }
}

private func addresses() {
    let configuration = DownloadConfiguration { $0.allowsAddress = { $0.isPublic } }
    _ = configuration
}

private func transport() {
    let configuration = DownloadConfiguration { $0.transport = .libcurl }
    _ = configuration
}

private func states(_ manager: DownloadManager, _ url: URL, _ file: URL) async throws {
    let download = try await manager.download(DownloadRequest(url, to: .file(file)))
    for await state in download.states {
        print(state)
    }
}

private func checksums(_ manager: DownloadManager, _ url: URL, _ folder: URL) async throws {
    var request = DownloadRequest(url, to: .directory(folder))
    request.checksums = [try Checksum(parsing: "sha256:ba7816bf…")]
    let file = try await manager.download(request).value
    _ = file
}

private func mirrors(_ manager: DownloadManager, _ url: URL, _ folder: URL, _ mirror: URL, _ another: URL) async throws
{
    var request = DownloadRequest(url, to: .directory(folder))
    request.mirrors = [mirror, another]
    let download = try await manager.download(request)
    _ = download
}

private struct API: Sendable {
    func signedURL(of id: String) async throws -> URL { throw CocoaError(.featureUnsupported) }
}

private func links(_ request: inout DownloadRequest, _ api: API, _ id: String) {
    request.linkProvider = .init { .init(try await api.signedURL(of: id)) }
}

private func link(_ download: Download, _ link: URL) async throws {
    try await download.setURL(link)
}

private func file(at url: URL, in folder: URL) async throws -> URL {
    let file = try await url.download(to: .directory(folder))
    return file
}

private func post(_ request: inout DownloadRequest) {
    request.method = "POST"
    request.body = .data(Data(#"{"year":2026}"#.utf8))
    request.headers["Content-Type"] = "application/json"
}

private func identity(_ request: inout DownloadRequest) {
    request.identity = "report-42"
}

private func rates(_ download: Download) async throws {
    let configuration = DownloadConfiguration {
        $0.rateLimit = 10_000_000
        $0.groupRateLimits = ["updates": 500_000]
        $0.rateSchedule = RateSchedule("Mon-Fri 08:00-18:00 1M, else none")
    }
    let manager = try await DownloadManager(configuration: configuration)
    try await manager.setRateLimit(2_000_000)
    try await manager.setRateLimit(nil, ofGroup: "updates")
    try await download.setRateLimit(100_000)
}

private func retries(_ configuration: inout DownloadConfiguration) {
    configuration.retryPolicy.maxFailures = 10
    configuration.retryPolicy.decide = { error, failures in
        error.code == .tls && failures < 3 ? .retry(after: .seconds(5)) : .standard
    }
}

private func ensure(_ manager: DownloadManager, _ url: URL, _ folder: URL) async throws {
    var request = DownloadRequest(url, to: .directory(folder))
    request.refetchPolicy = .ifChanged
    let file = try await manager.download(request).value
    _ = file
}

func mirror(_ download: Download) async {
    let progress = Progress(totalUnitCount: -1)
    await download.report(to: progress)
}

private func network(_ manager: DownloadManager, _ url: URL, _ folder: URL) async throws {
    var request = DownloadRequest(url, to: .directory(folder))
    request.networkPolicy = .notExpensive
    let download = try await manager.download(request)
    for await event in download.events {
        if case .waitingForNetwork(let blocker) = event { print(blocker) }
    }
}

private func valueOrNil(of download: Download, makeRoom: () async throws -> Void) async throws -> URL? {
    do {
        return try await download.value
    } catch let error as DownloadError where error.statusCode == 404 {
        return nil
    } catch let error as DownloadError where error.code == .diskFull {
        try await makeRoom()
        await download.resume()
        return try await download.value
    }
}

private func probe(_ manager: DownloadManager, _ url: URL, _ folder: URL) async throws {
    let probe = try await manager.probe(DownloadRequest(url, to: .directory(folder)))
    print(probe.file.lastPathComponent, probe.totalBytes ?? 0, probe.outcome)
}

private func verify(_ file: URL, _ list: ChecksumList) async throws {
    let verification = FileVerification(checksums: list.checksum(forFileNamed: "image.iso").map { [$0] } ?? [])
    switch try await verification.verify(file) {
    case .verified(let proof): print("right:", proof)
    case .different(let difference): print("wrong:", difference, difference.damagedRanges ?? [])
    }
}

private func serve(_ configuration: DownloadConfiguration) async throws {
    let manager = try await DownloadManager(configuration: configuration)
    try await manager.serveCommands(untilIdle: true)
    await manager.shutdown()
}
