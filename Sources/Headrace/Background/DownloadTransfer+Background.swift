import HeadracePlatform

extension BackgroundTransfers {
    func fetch(for transfer: inout DownloadTransfer) async throws -> DownloadTransfer.Step {
        try await transfer.fetch(in: self)
    }
}

extension DownloadTransfer {
    /// Makes the system fetch the file, then verifies and renames it.
    fileprivate mutating func fetch(in background: BackgroundTransfers) async throws -> Step {
        let requested = record.requested { RedirectChain($0, at: state.sources.current, environment.configuration) }
            .request(with: [], environment.configuration)
        try BackgroundLimits.check(requested.fields)
        if state.count == 0, record.backgroundNote == nil {
            for limitation in BackgroundLimits.limitations(request, environment.configuration) {
                publish(.notice(.unsupportedInBackground(limitation)))
            }
        }
        let outcome = await background.fetch(
            record,
            BackgroundRequest(requested, request.networkPolicy, userAgent: environment.configuration.userAgent),
            until: stop
        )
        switch outcome {
        case .file(let file): return try await finish(file)
        case .again: return try requestAgain()
        case .failed(let error): throw error
        case .stopped: throw CancellationError()
        }
    }

    /// Verifies and renames the delivered file, which has replaced any partial file.
    private mutating func finish(_ file: DeliveredFile) async throws -> Step {
        if !partial.held.isEmpty {
            publish(.restarted(reason: .otherBytesHeld, bytesWasted: partial.held.count))
        }
        partial.close()
        partial = PartialDownload(record, environment)
        _ = try partial.open()
        guard partial.heldBytes == file.body.totalBytes else {
            publish(.restarted(reason: .filePurged, bytesWasted: partial.held.count))
            return try requestAgain()
        }
        correctMeter()
        state.meter.totalBytes = file.body.totalBytes
        state.fetched(Int(clamping: partial.heldBytes))
        let response = URL(filePath: file.path, directoryHint: .notDirectory)
        publish(.responded(status: file.head.status, totalBytes: file.body.totalBytes, file: response))
        try expect(file.head, for: file.path)
        return try await complete(file.path, file.body.framing)
    }

    /// Makes the system fetch the file again; throws `connectionLost` after too many requests.
    private mutating func requestAgain() throws(DownloadError) -> Step {
        guard state.mayRequestAgain() else {
            throw DownloadError(.connectionLost, "The system has stopped the download repeatedly.")
        }
        return .again
    }
}

extension BackgroundRequest {
    init(_ request: TransportRequest, _ networkPolicy: DownloadRequest.NetworkPolicy, userAgent: String) {
        let fields = request.fields.withDefaults(userAgent: userAgent)
        self.init(url: request.url, fields: fields, networkPolicy: networkPolicy)
    }
}
