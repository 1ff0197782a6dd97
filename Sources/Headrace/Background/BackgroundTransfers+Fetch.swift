import HeadracePlatform

extension BackgroundTransfers {
    func fetch(for transfer: inout DownloadTransfer) async throws -> DownloadTransfer.Step {
        let (record, request) = (transfer.record, transfer.request)
        let (source, configuration) = (transfer.state.sources.current, transfer.environment.configuration)
        let requested = RedirectChain(request, at: source, configuration).request(with: [])
        try BackgroundLimits.check(requested.fields)
        guard requested.method == "GET" else {
            throw DownloadError(.invalidRequest, "A background session sends only GET, not \(requested.method).")
        }
        guard !request.decodesContent else {
            throw DownloadError(.invalidRequest, "A background session does not support decodesContent.")
        }
        guard !request.requiresPublicAddress else {
            throw DownloadError(
                .invalidRequest,
                "A background session does not support requiresPublicAddress, because the system opens the connections. "
                    + "Use a manager without a background session."
            )
        }
        if transfer.state.count == 0, record.backgroundNote == nil {
            for limitation in BackgroundLimits.limitations(request, configuration) {
                transfer.publish(.notice(.unsupportedInBackground(limitation)))
            }
        }
        let outcome = await fetch(
            record,
            BackgroundRequest(requested, request.networkPolicy, userAgent: configuration.userAgent),
            until: transfer.stop
        )
        switch outcome {
        case .file(let file): return try await finish(file, &transfer)
        case .again: return try requestAgain(&transfer.state)
        case .failed(let error): throw error
        case .stopped: throw CancellationError()
        }
    }

    /// Verifies and renames the delivered file, which has replaced any partial file; if it is gone, requests it again.
    private func finish(
        _ file: DeliveredFile,
        _ transfer: inout DownloadTransfer
    ) async throws -> DownloadTransfer.Step {
        if !transfer.partial.held.isEmpty {
            transfer.publish(.restarted(reason: .otherBytesHeld, bytesWasted: transfer.partial.held.count))
        }
        transfer.partial.close()
        transfer.partial = PartialDownload(transfer.record, transfer.environment)
        _ = try transfer.partial.open()
        guard transfer.partial.heldBytes == file.body.totalBytes else {
            transfer.publish(.restarted(reason: .filePurged, bytesWasted: transfer.partial.held.count))
            return try requestAgain(&transfer.state)
        }
        transfer.correctMeter()
        transfer.state.meter.totalBytes = file.body.totalBytes
        transfer.state.fetched(Int(clamping: transfer.partial.heldBytes))
        let response = URL(filePath: file.path, directoryHint: .notDirectory)
        transfer.publish(.responded(status: file.head.status, totalBytes: file.body.totalBytes, file: response))
        try transfer.expect(file.head, for: file.path)
        return try await transfer.complete(file.path, file.body.framing)
    }

    /// Makes the system fetch the file again; throws `connectionLost` after too many requests.
    private func requestAgain(_ state: inout TransferState) throws(DownloadError) -> DownloadTransfer.Step {
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
