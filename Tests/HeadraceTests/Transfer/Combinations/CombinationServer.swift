import HeadracePlatform
import HeadraceTestSupport

@testable import Headrace

/// The server of a combination, with the origin at `/file.bin` and the mirrors at `/m0`, `/m1` and so on.
final class CombinationServer: Sendable {
    private struct State {
        /// The number of requests for the file at the origin, without those that were redirected.
        var count = 0
        /// The number of requests to all sources.
        var countOfAll = 0
        var hasChanged = false
        var behaves = false
        /// The numbers of the requests at which the caller acts, by the index of the stop.
        var stops: [Int] = []

        /// Counts a request, and returns the index of the stop that is due at it, if any.
        mutating func stop(at request: RecordedRequest, of combination: Combination) -> Int? {
            defer { countOfAll += 1 }
            let next = stops.count
            guard !behaves, next < combination.stops.count, countOfAll >= combination.stops[next].request else {
                return nil
            }
            stops.append(request.index)
            return next
        }
    }

    private let combination: Combination
    private let digests: [Combination.Version: String]
    private let gates: [Gate]
    private let state = Locked(State())

    init(_ combination: Combination) throws {
        self.combination = combination
        let versions = combination.digest == .none ? [] : Combination.Version.allCases
        digests = try Dictionary(
            uniqueKeysWithValues: versions.map { version in
                let checksum = try Checksum(of: combination.body(version))
                return (version, "sha-256=:\(Data(checksum.bytes).base64EncodedString()):")
            }
        )
        gates = try combination.stops.map { _ in try Gate() }
    }

    var response: Response {
        .answering { [self] request in
            guard request.method == "GET" else { return .status(405) }
            if request.path.hasPrefix("/m") { return mirror(request, request.path.hasPrefix("/m1") ? 1 : 0) }
            let isFresh = request.path.contains("fresh")
            if combination.redirects, !request.path.hasPrefix("/far") {
                return .redirect(to: isFresh ? "/far/fresh/file.bin" : "/far/file.bin")
            }
            return origin(request, isFresh: isFresh)
        }
    }

    /// The version that the origin serves now.
    var present: Combination.Version { state.withLock { $0.hasChanged ? .new : .old } }

    /// Stops all faults and further changes of the version.
    func behave() {
        state.withLock { $0.behaves = true }
        for gate in gates { gate.open() }
    }

    /// Returns the number of the request at which a stop occurred; `nil` if it has not occurred yet.
    func request(of stop: Int) -> Int? {
        state.withLock { $0.stops.indices.contains(stop) ? $0.stops[stop] : nil }
    }

    func goOn(after stop: Int) {
        gates[stop].open()
    }

    private func origin(_ request: RecordedRequest, isFresh: Bool) -> Response {
        let (number, behaves, version, stop) = state.withLock { state in
            let number = state.count
            state.count += 1
            if !state.behaves, let change = combination.change, number >= change { state.hasChanged = true }
            let stop = state.stop(at: request, of: combination)
            return (number, state.behaves, state.hasChanged ? Combination.Version.new : .old, stop)
        }
        var resource = resource(version, combination.tag, combination.date, node: number % 2)
        resource.acceptRanges = combination.acceptRanges
        resource.supportsRanges = combination.supportsRanges && combination.acceptRanges != "none"
        resource.ifRange = combination.ifRange
        resource.includesCompleteLength = combination.includesCompleteLength
        let fault = behaves ? nil : combination.faults[number]
        var change: (Response) -> Response = { $0 }
        switch fault {
        case .cut(let offset, let ending): change = { $0.truncated(after: offset, by: ending) }
        case .headCut(let ending): return Response.file(resource).headTruncated(after: 30, by: ending)
        case .unavailable(let seconds?): return .status(503, headers: ["Retry-After": "\(seconds)"])
        case .unavailable(nil): return .status(503)
        case .ended: return .status(isFresh ? 404 : 403)
        case .whole: resource.supportsRanges = false
        case .margins(let before, let after): resource.partMargins = (before, after)
        case .ifRangeRefused: resource.ifRange = .refused
        case nil: break
        }
        var response = change(framed(.file(resource)))
        if let digest = digests[version], combination.digest == .inAll || request["Range"] == nil {
            response = response.header("Repr-Digest", digest)
        }
        return delivered(response, until: stop)
    }

    /// Limits the response to the combination's pace, and holds it at the bytes at which the caller acts.
    private func delivered(_ response: Response, until stop: Int?) -> Response {
        let paced = combination.bytesPerSecond.map { response.limited(bytesPerSecond: $0) } ?? response
        return stop.map { paced.held(after: combination.stops[$0].bytes, until: gates[$0]) } ?? paced
    }

    private func framed(_ response: Response) -> Response {
        switch combination.framing {
        case .length: response
        case .chunked: response.chunked([10_007])
        case .closeDelimited: response.closeDelimited
        }
    }

    private func mirror(_ request: RecordedRequest, _ index: Int) -> Response {
        let mirror = combination.mirrors[index]
        let (behaves, stop) = state.withLock { ($0.behaves, $0.stop(at: request, of: combination)) }
        var resource = resource(mirror.version, mirror.tag, mirror.date, node: 0)
        if !mirror.sharesTags, let tag = resource.etag { resource.etag = tag.replacing("v", with: "m\(index)-v") }
        var response = Response.file(resource)
        if let cut = mirror.cut, !behaves, request.attempt == 0 { response = response.truncated(after: cut) }
        return delivered(response, until: stop)
    }

    private func resource(
        _ version: Combination.Version,
        _ tag: Combination.Tag,
        _ date: Combination.Date,
        node: Int
    ) -> Resource {
        var resource = Resource(combination.body(version))
        let name = version == .old ? "v1" : "v2"
        resource.etag =
            switch tag {
            case .strong: "\"\(name)\""
            case .perNode: "\"\(name)-\(node)\""
            case .weak: "W/\"\(name)\""
            case .weakForAllVersions: "W/\"v\""
            case .none: nil
            }
        let isOld = version == .old
        resource.lastModified =
            switch date {
            case .strong: isOld ? "Wed, 01 Jan 2025 00:00:00 GMT" : "Thu, 02 Jan 2025 00:00:00 GMT"
            case .strongForAllVersions: "Wed, 01 Jan 2025 00:00:00 GMT"
            case .weak: "Sun, 05 Jan 2025 00:00:0\(isOld ? 1 : 2) GMT"
            case .weakForAllVersions: "Sun, 05 Jan 2025 00:00:00 GMT"
            case .none: nil
            }
        resource.date = "Sun, 05 Jan 2025 00:00:30 GMT"
        return resource
    }
}
