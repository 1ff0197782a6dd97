import HeadracePlatform

/// A place that parts of a file are asked for: the one where the first request was answered, or a mirror of it.
struct DownloadSource: Sendable {
    /// The most mirrors that are asked beside the first source.
    static let maxMirrors = 7

    /// What leads to it: of the first one, the redirects that were followed; a mirror's are followed with each request.
    let chain: RedirectChain
    /// The version that its answers have to prove.
    let known: RepresentationMetadata
    /// What proves its bytes in the end, where its answers need not.
    let deferredVerification: RangeRequest.DeferredVerification?

    var url: URL { chain.url }

    /// The answers of one that a checksum proves in the end may have a tag and a date of their own.
    init(_ chain: RedirectChain, _ known: RepresentationMetadata, isVerifiedAtEnd: Bool) {
        self.chain = chain
        var known = known
        if isVerifiedAtEnd { (known.entityTag, known.lastModified) = (nil, nil) }
        self.known = known
        deferredVerification = isVerifiedAtEnd ? .checksum : nil
    }
}

extension DownloadSource {
    /// The mirrors whose parts can be proven to be of this version.
    ///
    /// A checksum proves them in the end, or an entity tag that they have in common at once. A date proves nothing about
    /// another source: many files have the same.
    static func mirrors(
        of known: RepresentationMetadata,
        for transfer: DownloadTransfer,
        _ attempts: TransferState
    ) -> [DownloadSource] {
        let isVerifiedAtEnd = attempts.verification.isNeeded && known.contentCoding == nil
        if !isVerifiedAtEnd {
            guard case .strong? = EntityValidator(of: known) else { return [] }
        }
        return attempts.sources.others.prefix(maxMirrors).map { url in
            let isAdvertised = attempts.sources.isAdvertised(url)
            let chain = transfer.record.requested {
                RedirectChain($0, at: url, isAdvertised: isAdvertised, transfer.environment.configuration)
            }
            return DownloadSource(chain, known, isVerifiedAtEnd: isVerifiedAtEnd)
        }
    }
}

extension [DownloadSource] {
    /// For each source, the first one of the same host.
    var hosts: [Int] {
        let names = map { HostLimiter.host(of: $0.url) }
        return names.map { names.firstIndex(of: $0) ?? 0 }
    }
}
