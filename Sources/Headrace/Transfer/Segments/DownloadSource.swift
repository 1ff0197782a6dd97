import HeadracePlatform

/// A server that delivers segments of a file: the server of the first response, or a mirror.
struct DownloadSource: Sendable {
    /// The maximum number of mirrors used besides the first source.
    static let maxMirrors = 7

    /// The redirects that were already followed, so that further requests need not repeat them.
    ///
    /// The first source has the redirects that led to its first response. A mirror has none: each request to the mirror
    /// follows the mirror's redirects again.
    let chain: RedirectChain
    /// The metadata of the version that responses of this source must match.
    let known: RepresentationMetadata
    /// How the bytes are verified later, if responses need no matching validator; `nil` if responses must have one.
    let deferredVerification: RangeRequest.DeferredVerification?

    var url: URL { chain.url }

    /// Creates a source; if `isVerifiedAtEnd` is `true`, its responses may have other validators than `known`.
    init(_ chain: RedirectChain, _ known: RepresentationMetadata, isVerifiedAtEnd: Bool) {
        self.chain = chain
        var known = known
        if isVerifiedAtEnd { (known.entityTag, known.lastModified) = (nil, nil) }
        self.known = known
        deferredVerification = isVerifiedAtEnd ? .checksum : nil
    }
}

extension DownloadSource {
    /// Returns up to ``maxMirrors`` mirrors whose bytes can be verified to be of the known version.
    ///
    /// This needs a checksum, or the same strong entity tag in each response. A date is not enough: many files share
    /// one.
    static func mirrors(of known: RepresentationMetadata, for transfer: DownloadTransfer) -> [DownloadSource] {
        let isVerifiedAtEnd = transfer.state.verification.isNeeded && known.contentCoding == nil
        if !isVerifiedAtEnd {
            guard case .strong? = EntityValidator(of: known) else { return [] }
        }
        // Without a checksum, parts over http would weaken a download over https.
        let mayBePlain = isVerifiedAtEnd || !transfer.state.sources.current.isHTTPS
        return transfer.state.sources.others.filter { mayBePlain || $0.isHTTPS }.prefix(maxMirrors).map {
            DownloadSource(transfer.chain(to: $0), known, isVerifiedAtEnd: isVerifiedAtEnd)
        }
    }
}

extension DownloadTransfer {
    /// Returns the chain of requests that begins at a source.
    func chain(to source: URL) -> RedirectChain {
        let isAdvertised = state.sources.isAdvertised(source)
        return record.requested { RedirectChain($0, at: source, isAdvertised: isAdvertised, environment.configuration) }
    }
}

extension [DownloadSource] {
    /// For each source, the index of the first source with the same host.
    var hosts: [Int] {
        let names = map { HostLimiter.host(of: $0.url) }
        return names.map { names.firstIndex(of: $0) ?? 0 }
    }
}
