import Headrace

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Runs `headrace get`: makes the requests, waits for the downloads, and gives the status.
func get(_ arguments: ParsedArguments) async throws(UsageError) -> ExitCode {
    let options = try GetOptions(arguments)
    let requests = try options.requests(listed: try options.readList())
    for request in requests { try request.check() }
    try options.checkCertificateAuthorities()
    do throws(Files.Failure) {
        try Files.makeDirectory(options.directory)
    } catch {
        let message = "headrace: \(options.directory): the directory could not be made: \(error.reason)"
        Console.error.write(message.printable + "\n")
        return .disk
    }
    let signals = Signals()
    do {
        return try await withDownloadManager(options.configuration) { manager in
            // The first ones begin while the others are entered.
            let limit = options.configuration.maxConcurrentDownloads
            var downloads = try await manager.download(Array(requests.prefix(limit)))
            downloads += try await manager.download(Array(requests.dropFirst(limit)))
            let run = GetRun(manager: manager, downloads: downloads, options: options, requests: signals.requests)
            return await run.finish()
        }
    } catch let error as DownloadError {
        guard error.code != .invalidRequest else { throw UsageError(error.message) }
        Console.error.write("headrace: \(error.message.printable)\n")
        return ExitCode(error.code)
    } catch {
        Console.error.write("headrace: \("\(error)".printable)\n")
        return .other
    }
}

extension DownloadRequest {
    /// Throws for what the manager would refuse, before anything is made on the disk.
    fileprivate func check() throws(UsageError) {
        do throws(DownloadError) {
            try validate()
        } catch {
            throw UsageError(error.message)
        }
    }
}

extension GetOptions {
    /// Reads the URLs of the input file, where there is one.
    fileprivate func readList() throws(UsageError) -> [String] {
        guard let inputFile else { return [] }
        let name = inputFile == "-" ? "standard input" : inputFile
        let bytes: [UInt8]
        do throws(Files.Failure) {
            bytes = try Files.read(inputFile)
        } catch {
            throw UsageError("--input-file: \(name): \(error.reason)")
        }
        return try URLList(bytes, name: name).urls
    }

    fileprivate func checkCertificateAuthorities() throws(UsageError) {
        guard let path = configuration.certificateAuthorities?.path(percentEncoded: false) else { return }
        do throws(Files.Failure) {
            try Files.checkReadable(path)
        } catch {
            throw UsageError("--cacert: \(path): \(error.reason)")
        }
    }
}

/// The downloads of one command, from adding to the last line.
private struct GetRun {
    let manager: DownloadManager
    let requests: AsyncStream<Signals.Request>
    private let downloads: [Download]
    private let limit: Int
    private let reporter: Reporter

    init(
        manager: DownloadManager,
        downloads: [Download],
        options: GetOptions,
        requests: AsyncStream<Signals.Request>
    ) {
        self.manager = manager
        self.downloads = downloads
        self.requests = requests
        limit = options.configuration.maxConcurrentDownloads
        reporter = Reporter(downloads, options: options)
    }

    func finish() async -> ExitCode {
        let signal = await withTaskGroup(of: Int32?.self) { group in
            group.addTask { await obeySignals() }
            group.addTask { await draw() }
            await followAll()
            group.cancelAll()
            return await group.reduce(nil) { $0 ?? $1 }
        }
        return await reporter.end(after: signal)
    }

    /// As many followers as downloads can run: they start in the order of adding, and history waits for a late one.
    private func followAll() async {
        guard !reporter.isQuiet else { return await manager.waitUntilIdle() }
        await withTaskGroup(of: Void.self) { group in
            for index in downloads.indices {
                if index >= limit { await group.next() }
                group.addTask { await reporter.follow(index) }
            }
        }
    }

    /// Stops everything at the first signal that asks for it, and returns its number.
    private func obeySignals() async -> Int32? {
        for await request in requests {
            switch request {
            case .redraw: await reporter.forgetArea()
            case .stop(let number):
                await manager.shutdown()
                return number
            }
        }
        return nil
    }

    private func draw() async -> Int32? {
        guard let interval = await reporter.interval() else { return nil }
        while !Task.isCancelled {
            await reporter.draw()
            try? await Task.sleep(for: interval)
        }
        return nil
    }
}
