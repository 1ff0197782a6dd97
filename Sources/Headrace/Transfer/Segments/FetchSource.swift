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
    /// How many sources before it, and how many in all, are of the same host.
    fileprivate var twins = (before: 0, count: 1)

    var url: URL { chain.url }

    /// The answers of one that a checksum proves in the end may have a tag and a date of their own.
    init(_ chain: RedirectChain, _ known: Representation, isProvenAtEnd: Bool) {
        self.chain = chain
        var known = known
        if isProvenAtEnd { (known.entityTag, known.lastModified) = (nil, nil) }
        self.known = known
        lateProof = isProvenAtEnd ? .checksum : nil
    }

    /// Its part of the connections that its host gives a download, of which each source of the host has as many.
    func allowance(of share: Int) -> Int {
        share / twins.count + (twins.before < share % twins.count ? 1 : 0)
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
    /// The sources with what they know of each other.
    var acquainted: [FetchSource] {
        indices.map { index in
            let host = HostConnections.host(of: self[index].url)
            let twins = indices.filter { HostConnections.host(of: self[$0].url) == host }
            var source = self[index]
            source.twins = (before: twins.count { $0 < index }, count: twins.count)
            return source
        }
    }
}
