import HeadracePlatform

/// A source of parts of a file: the server of the first response, or a mirror.
struct DownloadSource: Sendable {
    /// The maximum number of mirrors used besides the first source.
    static let maxMirrors = 7

    /// The redirects to the source.
    ///
    /// For the first source they were already followed; for a mirror, each request follows them.
    let chain: RedirectChain
    /// The metadata of the version that responses of this source must match.
    let known: RepresentationMetadata
    /// How bytes are verified at the end, if responses need not have a matching validator; `nil` if they must.
    let deferredVerification: RangeRequest.DeferredVerification?

    var url: URL { chain.url }

    /// Creates a source; with `isVerifiedAtEnd`, the entity tag and the date of its responses may differ from `known`.
    init(_ chain: RedirectChain, _ known: RepresentationMetadata, isVerifiedAtEnd: Bool) {
        self.chain = chain
        var known = known
        if isVerifiedAtEnd { (known.entityTag, known.lastModified) = (nil, nil) }
        self.known = known
        deferredVerification = isVerifiedAtEnd ? .checksum : nil
    }
}

extension DownloadSource {
    /// Returns the mirrors whose parts can be verified to be of this version.
    ///
    /// Parts are verified by a checksum at the end, or at once by the same strong entity tag. A date is not enough,
    /// since many files share one.
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
    /// For each source, the index of the first source with the same host.
    var hosts: [Int] {
        let names = map { HostLimiter.host(of: $0.url) }
        return names.map { names.firstIndex(of: $0) ?? 0 }
    }
}
