import HeadraceTestSupport

@testable import Headrace

extension Combination {
    /// Draws a combination that random choices hardly ever produce.
    mutating func drawTrap(_ random: inout SeededRandom) {
        switch random.next(0...4) {
        case 0:
            // A mirror is requested first, and all sources have the same date.
            (tag, date, supportsRanges, newSize) = (.none, .strong, true, oldSize)
            change = random.pick([nil, nil, 3])
            let cut = random.isTrue(0.5) ? random.next(1...oldSize - 1) : nil
            mirrors = [Mirror(version: .new, tag: .none, sharesTags: true, date: .strongForAllVersions, cut: cut)]
            faults = [0: random.isTrue(0.5) ? .ended : .unavailable(retryAfter: nil)]
            stops = [stop(at: 1, &random)]
        case 1:
            // Only a checksum validates the bytes, and the file changes.
            tag = random.pick([.perNode, .weak, .none])
            (date, change) = (random.pick([.weak, .none]), random.pick([nil, 1, 2]))
            (checksum, pieces) = (random.pick(Version.allCases), nil)
            for number in 0...1 { faults[number] = .cut(random.next(1...min(oldSize, newSize) - 1), .reset) }
        case 2:
            // The bytes are compared with the overlap, perhaps with holes between them.
            tag = random.pick([.weakForAllVersions, .none])
            (date, resumePolicy, supportsRanges) = (random.pick([.weakForAllVersions, .none]), .overlap, true)
            (checksum, pieces) = (nil, nil)
            faults[0] = .cut(random.next(1...min(oldSize, newSize) - 1), .reset)
        case 3:
            // The server sends a digest, and mirrors have another version.
            (digest, checksServerDigests, supportsRanges, newSize) = (
                random.pick([.inWholes, .inAll]), true, true, oldSize
            )
            (checksum, pieces) = (nil, nil)
            mirrors = Version.allCases.map { Mirror(version: $0, tag: .none, sharesTags: false, date: .none) }
            stops = [stop(at: random.next(0...2), &random)]
        default:
            // Parts arrive without the complete length.
            (tag, includesCompleteLength, supportsRanges) = (.strong, false, true)
            if random.isTrue(0.5) { framing = .chunked }
            stops = [stop(at: 0, &random), stop(at: 1, &random)]
        }
    }

    private func stop(at request: Int, _ random: inout SeededRandom) -> Stop {
        let bytes = random.next(1...min(oldSize, newSize) - 1)
        return Stop(request: request, bytes: bytes, action: random.pick([.pause, .shutDown]), reads: true)
    }
}
