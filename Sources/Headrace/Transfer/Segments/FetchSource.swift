import HeadracePlatform

/// A place that parts of a file are asked for: the one where the first request was answered, or a mirror of it.
struct FetchSource: Sendable {
    /// The most mirrors that are asked beside the first source.
    static let maxMirrors = 7

    /// What leads to it: of the first one, the redirects that were followed; a mirror's are followed with each request.
    let chain: RedirectChain
    /// The version that its answers have to prove.
    let known: Representation
    /// What proves its bytes in the end, where its answers need not.
    let lateProof: RangeAsk.LateProof?

    var url: URL { chain.url }

    /// The answers of one that a checksum proves in the end may have a tag and a date of their own.
    init(_ chain: RedirectChain, _ known: Representation, isProvenAtEnd: Bool) {
        self.chain = chain
        var known = known
        if isProvenAtEnd { (known.entityTag, known.lastModified) = (nil, nil) }
        self.known = known
        lateProof = isProvenAtEnd ? .checksum : nil
    }
}

extension FetchSource {
    /// The mirrors whose parts can be proven to be of this version.
    ///
    /// A checksum proves them in the end, or an entity tag that they have in common at once. A date proves nothing about
    /// another source: many files have the same.
    static func mirrors(
        of known: Representation,
        for transfer: DownloadTransfer,
        _ attempts: Attempts
    ) -> [FetchSource] {
        let isProvenAtEnd = attempts.verification.isNeeded && known.contentCoding == nil
        if !isProvenAtEnd {
            guard case .strong? = EntityValidator(of: known) else { return [] }
        }
        return attempts.sources.others.prefix(maxMirrors).map { url in
            let isTold = attempts.sources.isTold(url)
            let chain = transfer.record.requested {
                RedirectChain($0, at: url, isTold: isTold, transfer.environment.configuration)
            }
            return FetchSource(chain, known, isProvenAtEnd: isProvenAtEnd)
        }
    }
}

extension [FetchSource] {
    /// For each source, the first one of the same host.
    var hosts: [Int] {
        let names = map { HostConnections.host(of: $0.url) }
        return names.map { names.firstIndex(of: $0) ?? 0 }
    }
}
