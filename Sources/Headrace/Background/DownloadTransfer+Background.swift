import HeadracePlatform

extension BackgroundTransfers {
    func fetch(
        for transfer: DownloadTransfer,
        _ session: inout PartialDownload,
        _ attempts: inout TransferState
    ) async throws -> FinishedFile? {
        try await transfer.fetch(in: self, &session, &attempts)
    }
}

extension DownloadTransfer {
    /// Makes the system fetch the file, then verifies and renames it; returns `nil` if the file must be requested
    /// again.
    fileprivate func fetch(
        in background: BackgroundTransfers,
        _ session: inout PartialDownload,
        _ attempts: inout TransferState
    ) async throws -> FinishedFile? {
        let requested = record.requested { RedirectChain($0, at: attempts.sources.current, environment.configuration) }
            .request(with: [], environment.configuration)
        try BackgroundLimits.check(requested.fields)
        if attempts.count == 0, record.backgroundNote == nil {
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
        case .file(let file):
            return try await finish(file, &session, &attempts)
        case .again:
            return try requestAgain(&attempts)
        case .failed(let error): throw error
        case .stopped: throw CancellationError()
        }
    }

    /// Verifies and renames the delivered file, which has replaced any partial file; returns `nil` if the file must be
    /// requested again.
    private func finish(
        _ file: DeliveredFile,
        _ session: inout PartialDownload,
        _ attempts: inout TransferState
    ) async throws -> FinishedFile? {
        if !session.held.isEmpty {
            publish(.restarted(reason: .otherBytesHeld, bytesWasted: session.held.count))
        }
        session.close()
        session = PartialDownload(record, environment)
        _ = try session.open()
        guard session.heldBytes == file.body.totalBytes else {
            publish(.restarted(reason: .filePurged, bytesWasted: session.held.count))
            return try requestAgain(&attempts)
        }
        attempts.meter.correct(to: session.heldBytes)
        attempts.meter.totalBytes = file.body.totalBytes
        attempts.fetched(Int(clamping: session.heldBytes))
        let response = URL(filePath: file.path, directoryHint: .notDirectory)
        publish(.responded(status: file.head.status, totalBytes: file.body.totalBytes, file: response))
        try expect(file.head, &session, &attempts, file.path)
        return try await complete(&session, &attempts, file.path, file.body.framing)
    }

    /// Always returns `nil`, so that the file is requested again; throws `connectionLost` after too many requests.
    private func requestAgain(_ attempts: inout TransferState) throws(DownloadError) -> FinishedFile? {
        guard attempts.mayRequestAgain() else {
            throw DownloadError(.connectionLost, "The system has stopped the download repeatedly.")
        }
        return nil
    }
}

extension BackgroundRequest {
    init(_ request: TransportRequest, _ networkPolicy: DownloadRequest.NetworkPolicy, userAgent: String) {
        let fields = request.fields.withDefaults(userAgent: userAgent)
        self.init(url: request.url, fields: fields, networkPolicy: networkPolicy)
    }
}
