import HeadraceTestSupport

@testable import Headrace

/// One random download: its server, its mirrors, the caller's request, and what the caller does meanwhile.
///
/// Two cases that no client can detect are excluded: a truncated body without a length whose end looks regular
/// (RFC 9112, section 6.3), and two versions with the same strong validator on one server.
struct Combination: Sendable {
    /// A version of the file; the server may change from the old to the new one, and each mirror has one of them.
    enum Version: CaseIterable {
        case old
        case new
    }

    /// The entity tags of a source.
    enum Tag: CaseIterable {
        case strong
        /// Two nodes behind one URL each send their own tag.
        case perNode
        case weak
        case weakForAllVersions
        case none
    }

    /// The dates of a source.
    enum Date: CaseIterable {
        case strong
        /// All versions have the same date, so only the tag distinguishes them.
        case strongForAllVersions
        case weak
        case weakForAllVersions
        case none
    }

    enum Framing: CaseIterable {
        case length
        case chunked
        case closeDelimited
    }

    enum Digest: CaseIterable {
        case none
        case inWholes
        case inAll
    }

    /// A fault in one response.
    enum Fault {
        case cut(Int64, Ending)
        case headCut(Ending)
        case unavailable(retryAfter: Int?)
        case ended
        case whole
        case margins(before: Int64, after: Int64)
        case ifRangeRefused
    }

    /// A mirror, which always serves the same version.
    struct Mirror {
        var version: Version
        var tag: Tag
        /// Whether the mirror's strong tag equals the origin's tag for the same version.
        var sharesTags: Bool
        var date: Date
        /// The offset at which the mirror's first response is cut; `nil` for none.
        var cut: Int64?
    }

    /// The action of the caller when the server has sent `bytes` bytes in response to a request.
    struct Stop {
        enum Action: CaseIterable {
            case pause
            case shutDown
            case nothing
        }

        var request: Int
        var bytes: Int64
        var action: Action
        /// Whether the caller waits until it has read the bytes itself.
        var reads: Bool
    }

    // The server.
    var oldSize: Int64 = 0
    var newSize: Int64 = 0
    var tag = Tag.strong
    var date = Date.none
    var acceptRanges: String? = "bytes"
    var supportsRanges = true
    var ifRange = Resource.IfRange.honoured
    var includesCompleteLength = true
    var framing = Framing.length
    var digest = Digest.none
    var redirects = false
    /// The number of the first request that gets the new version; `nil` if the file never changes.
    var change: Int?
    /// The faults by request number.
    var faults: [Int: Fault] = [:]
    var bytesPerSecond: Int64?
    var mirrors: [Mirror] = []
    /// Whether the mirrors and the new links are on another host.
    var isElsewhere = false

    // The client.
    var connections = 1
    var checksum: Version?
    var pieces: Version?
    var expectedSize: Version?
    var mismatchPolicy = DownloadRequest.MismatchPolicy.keep
    var resumePolicy = DownloadRequest.ResumePolicy.validated
    var resumesPartials = true
    var durability = DownloadConfiguration.Durability.none
    var checksServerDigests = true
    var rateLimit: Int64?
    var conflict: DownloadRequest.ConflictPolicy = .rename
    var fileExists = false
    var namesFile = true
    var hasLinkProvider = false
    var retries = 2
    var isRead = false
    var stops: [Stop] = []
    /// How often the caller resumes a failed download before the server stops misbehaving.
    var failures = 0
    /// The policy for a repeated request at the end; `nil` for none.
    var refetch: DownloadRequest.RefetchPolicy?

    func size(_ version: Version) -> Int64 { version == .old ? oldSize : newSize }

    func body(_ version: Version) -> Response.Body {
        .pattern(seed: seed(version), size: size(version))
    }

    func bytes(_ version: Version) -> [UInt8] {
        Pattern(seed: seed(version)).bytes(in: 0..<size(version))
    }

    private func seed(_ version: Version) -> UInt64 { version == .old ? 11 : 12 }

    /// Whether the origin's validators distinguish its versions.
    var tellsVersions: Bool {
        tag != .weakForAllVersions && (tag != .none || date != .weakForAllVersions)
    }

    /// The version that the request's checksum expects; with one, bytes are combined even without a validator.
    var wanted: Version? { checksum ?? pieces }

    /// Whether a version satisfies all expectations of the request.
    func isWanted(_ version: Version) -> Bool {
        wanted ?? version == version && expectedSize.map { size($0) == size(version) } ?? true
    }
}

extension Combination {
    init(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        // Only a large file is split into segments.
        let isLarge = random.isTrue(0.35)
        oldSize = isLarge ? random.next(2_150_000...2_700_000) : random.next(20_000...300_000)
        newSize = random.isTrue(0.7) ? oldSize : max(1, oldSize + random.next(-15_000...15_000))
        if isLarge { bytesPerSecond = random.pick([12 << 20, 24 << 20, 48 << 20]) }
        drawServer(&random)
        drawFaults(&random)
        drawMirrors(&random)
        drawClient(&random)
        drawStops(&random)
        if random.isTrue(0.5) { drawTrap(&random) }
        isElsewhere = random.isTrue(0.2)
        if random.isTrue(0.25) { expectedSize = wanted ?? random.pick(Version.allCases) }
    }

    private mutating func drawServer(_ random: inout SeededRandom) {
        tag = random.pick([.strong, .none] + Tag.allCases)
        date = random.pick(Date.allCases)
        if tag == .none, date == .strongForAllVersions { date = .strong }
        acceptRanges = random.isTrue(0.75) ? "bytes" : random.isTrue(0.7) ? nil : "none"
        supportsRanges = random.isTrue(0.9)
        ifRange = random.isTrue(0.7) ? .honoured : random.isTrue(0.7) ? .ignored : .refused
        includesCompleteLength = random.isTrue(0.85)
        framing = random.isTrue(0.7) ? .length : random.pick(Framing.allCases)
        digest = random.isTrue(0.5) ? .none : random.pick(Digest.allCases)
        redirects = random.isTrue(0.15)
        if random.isTrue(0.5) { change = random.next(1...4) }
    }

    private mutating func drawFaults(_ random: inout SeededRandom) {
        for number in 0..<random.next(1...7) where random.isTrue(number < 2 ? 0.85 : 0.5) {
            faults[number] = fault(&random)
        }
    }

    private func fault(_ random: inout SeededRandom) -> Fault {
        switch random.next(0...19) {
        case 0...10:
            let ending: Ending = framing == .closeDelimited || random.isTrue(0.5) ? .reset : .fin
            return .cut(random.next(0...min(oldSize, newSize) - 1), ending)
        case 11: return .headCut(random.isTrue(0.5) ? .fin : .reset)
        case 12, 13: return .unavailable(retryAfter: random.isTrue(0.05) ? 1 : random.pick([nil, 0]))
        case 14: return .ended
        case 15: return .whole
        case 16: return .ifRangeRefused
        default:
            return .margins(before: random.next(-3_000...20_000), after: random.next(-20_000...20_000))
        }
    }

    private mutating func drawMirrors(_ random: inout SeededRandom) {
        for _ in 0..<(random.isTrue(0.6) ? 0 : random.next(1...2)) {
            var mirror = Mirror(
                version: random.pick(Version.allCases),
                tag: random.pick([tag, .strong, .weak, .none]),
                sharesTags: random.isTrue(0.5),
                date: random.pick([.strong, .strongForAllVersions, .weak, .none])
            )
            if mirror.tag == .perNode { mirror.tag = .strong }
            if random.isTrue(0.4) { mirror.cut = random.next(0...min(oldSize, newSize) - 1) }
            mirrors.append(mirror)
        }
    }

    private mutating func drawClient(_ random: inout SeededRandom) {
        connections = random.pick([1, 2, 3, 4])
        if random.isTrue(0.35) {
            checksum = random.pick([.old, .new, .new])
            mismatchPolicy = random.pick([.keep, .keep, .delete])
        }
        if random.isTrue(0.15) { pieces = checksum ?? random.pick(Version.allCases) }
        resumePolicy = random.isTrue(0.3) ? .overlap : .validated
        resumesPartials = random.isTrue(0.85)
        durability = random.isTrue(0.2) ? .full : .none
        checksServerDigests = random.isTrue(0.85)
        if random.isTrue(0.1) { rateLimit = oldSize * random.next(4...12) }
        if random.isTrue(0.15) {
            fileExists = true
            conflict = random.pick(DownloadRequest.ConflictPolicy.allCases)
        }
        namesFile = random.isTrue(0.5)
        hasLinkProvider = random.isTrue(0.25)
        retries = random.pick([0, 1, 2, 3])
        isRead = random.isTrue(0.3)
        failures = random.pick([0, 1, 2])
        if random.isTrue(0.4) { refetch = random.pick([.ifChanged, .unlessCurrent]) }
    }

    private mutating func drawStops(_ random: inout SeededRandom) {
        var request: Int64 = 0
        for _ in 0..<random.pick([0, 0, 1, 1, 2, 3]) {
            request += random.next(0...2)
            stops.append(
                Stop(
                    request: Int(request),
                    bytes: random.next(0...min(oldSize, newSize) - 1),
                    action: random.pick([.pause, .pause, .shutDown, .nothing]),
                    reads: random.isTrue(0.6)
                )
            )
        }
    }
}

extension SeededRandom {
    mutating func isTrue(_ probability: Double) -> Bool {
        Double.random(in: 0..<1, using: &self) < probability
    }

    mutating func next(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &self) }

    mutating func next(_ range: ClosedRange<Int64>) -> Int64 { .random(in: range, using: &self) }

    mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int.random(in: elements.indices, using: &self)]
    }
}
