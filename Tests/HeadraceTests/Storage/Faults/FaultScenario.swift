import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// A download whose file calls fail in turn; see ``FaultRun``.
struct FaultScenario: Sendable, CustomTestStringConvertible {
    /// Returns the reply of a server to a request; the number of the request within its run is counted from 0.
    typealias Response = @Sendable (_ number: Int, TransportRequest) throws -> FakeTransport.Reply

    let name: String
    /// The right file.
    var file = version(1)
    var response: Response = { serve(version(1), to: $1) }
    /// The response of an earlier run, which leaves a file or a partial file; `nil` for no earlier run.
    var earlier: Response?
    /// The response of the run after the one with the fault; `nil` for the same.
    var later: Response?
    /// The contents of a file that has the final name and was not downloaded; `nil` if the name is free.
    var existing: [UInt8]?
    var connections = 1
    /// The volume of a directory for partial files; `nil` if they are beside the destination.
    var partials: PartialsVolume?
    /// Whether the destination is a missing directory.
    var lacksDirectory = false
    /// Whether the server's responses allow the partial file of a failed run to be resumed.
    var isResumable = true
    /// The code of the error with which a run ends although no call fails; `nil` if the run finishes.
    var failure: DownloadError.Code?
    /// The names of all files after the last run.
    var names = [fileName]
    var request: @Sendable (inout DownloadRequest) throws -> Void = { _ in }
    var configuration: @Sendable (inout DownloadConfiguration) -> Void = { _ in }

    var testDescription: String { name }

    static let fileName = "file.bin"
    static let copyName = "file (1).bin"
    static let size = 12_000
    static let chunkBytes = 4000
    private static let pieceBytes = 3000

    /// The bytes of one version of the file.
    static func version(_ number: Int, of size: Int = size) -> [UInt8] {
        Array(DiskFixture.bytes[number * 100..<number * 100 + size])
    }

    /// The reply of an origin that supports ranges, whose connection is lost after `most` bytes.
    ///
    /// Without a `tag`, there are neither validators nor ranges; without `hasLength`, the size is unknown.
    static func serve(
        _ bytes: [UInt8],
        to request: TransportRequest,
        tag: String? = "\"v1\"",
        sending most: Int = .max,
        hasLength: Bool = true,
        coding: String? = nil
    ) -> FakeTransport.Reply {
        func field(_ name: String) -> String? { request.fields.first { $0.name == name }?.value }
        var fields = tag.map { [("ETag", $0), ("Accept-Ranges", "bytes")] } ?? []
        if let coding { fields.append(("Content-Encoding", coding)) }
        if let tag, field("If-None-Match") == tag { return FakeTransport.Reply(304, fields: fields) }
        let isPart = tag != nil && field("Range") != nil && field("If-Range") ?? tag == tag
        let start = isPart ? DiskFixture.start(of: request) : 0
        let end = isPart ? DiskFixture.end(of: request) ?? bytes.count : bytes.count
        guard start < end else {
            return FakeTransport.Reply(416, fields: fields + [("Content-Range", "bytes */\(bytes.count)")])
        }
        if hasLength { fields.append(("Content-Length", "\(end - start)")) }
        if isPart { fields.append(("Content-Range", "bytes \(start)-\(end - 1)/\(bytes.count)")) }
        let body = Array(bytes[start..<end].prefix(most))
        return FakeTransport.Reply(
            isPart ? 206 : 200,
            fields: fields,
            body: body,
            end: body.count == end - start ? .finished : .failed(DownloadError(.connectionLost, "Cut."))
        )
    }

    /// The first bytes of a version, as an earlier run receives them.
    private static func cut(_ number: Int = 1, tag: String = "\"v1\"") -> Response {
        { serve(version(number), to: $1, tag: tag, sending: 6000) }
    }

    private static func expects(_ file: [UInt8]) -> @Sendable (inout DownloadRequest) throws -> Void {
        { $0.checksums = [try Checksum(.sha256, of: file)] }
    }

    private static func hasPieces(_ request: inout DownloadRequest) throws {
        let checksums = try stride(from: 0, to: size, by: pieceBytes).map { start in
            try Checksum(.sha256, of: Array(version(1)[start..<start + pieceBytes]))
        }
        request.pieceHashes = PieceHashes(length: Int64(pieceBytes), checksums: checksums)
    }

    private static let encoded = EncodedFile.gzip(version(1))

    static let all = [
        FaultScenario(name: "one connection"),
        FaultScenario(
            name: "a server without ranges",
            response: { serve(version(1), to: $1, tag: nil) },
            isResumable: false
        ),
        FaultScenario(
            name: "a small file without a version",
            file: version(1, of: 100),
            response: { serve(version(1, of: 100), to: $1, tag: nil) },
            isResumable: false
        ),
        FaultScenario(name: "an unknown length", response: { serve(version(1), to: $1, hasLength: false) }),
        FaultScenario(
            name: "a small file",
            file: version(1, of: 100),
            response: { serve(version(1, of: 100), to: $1) },
            configuration: { $0.durability = .none }
        ),
        FaultScenario(name: "a missing directory", lacksDirectory: true),
        FaultScenario(name: "a partial file", earlier: cut()),
        FaultScenario(
            name: "a partial file without syncs",
            earlier: cut(),
            configuration: { $0.durability = .none }
        ),
        FaultScenario(
            name: "a partial file of an older version",
            earlier: cut(2, tag: "\"v2\""),
            isResumable: false
        ),
        FaultScenario(
            name: "several connections",
            file: version(1, of: 2_199_000),
            response: { serve(version(1, of: 2_199_000), to: $1) },
            connections: 4
        ),
        FaultScenario(
            name: "a mirror after a lost connection",
            response: { number, request in
                guard request.url.host() == "mirror" else { throw DownloadError(.connectionLost, "Refused.") }
                return serve(version(1), to: request)
            },
            earlier: { number, request in
                guard number == 0 else { throw DownloadError(.connectionLost, "Refused.") }
                return try cut()(number, request)
            },
            request: { request in
                request.mirrors = [try #require(URL(string: "http://mirror/\(fileName)"))]
                try expects(version(1))(&request)
            }
        ),
        FaultScenario(name: "a right checksum", earlier: cut(), request: expects(version(1))),
        FaultScenario(
            name: "a wrong checksum",
            response: { serve(version(2), to: $1, tag: "\"v2\"") },
            later: { serve(version(1), to: $1) },
            isResumable: false,
            failure: .checksum,
            request: expects(version(1))
        ),
        FaultScenario(
            name: "a wrong piece",
            response: { number, request in
                var bytes = version(1)
                if number == 0 { bytes[pieceBytes] ^= 1 }
                return serve(bytes, to: request)
            },
            later: { serve(version(1), to: $1) },
            isResumable: false,
            request: hasPieces
        ),
        FaultScenario(
            name: "pieces of an existing file",
            existing: version(1).enumerated().map { $0 == 0 ? $1 ^ 1 : $1 },
            isResumable: false,
            request: { request in
                try hasPieces(&request)
                request.refetchPolicy = .ifChanged
            }
        ),
        FaultScenario(name: "an existing file to keep", existing: version(3), names: [copyName, fileName]),
        FaultScenario(
            name: "an existing file to replace",
            existing: version(3),
            request: { $0.conflictPolicy = .overwrite }
        ),
        FaultScenario(
            name: "an existing file to skip",
            file: version(3),
            existing: version(3),
            request: { request in
                request.conflictPolicy = .skip
                guard case .directory(let folder) = request.destination else { return }
                request.destination = .file(folder.appending(path: fileName))
            }
        ),
        FaultScenario(
            name: "an older version",
            earlier: { serve(version(2), to: $1, tag: "\"v2\"") },
            request: { $0.refetchPolicy = .ifChanged },
            configuration: { $0.storesOrigin = true }
        ),
        FaultScenario(
            name: "a version to store without syncs",
            request: { $0.refetchPolicy = .ifChanged },
            configuration: { $0.durability = .none }
        ),
        FaultScenario(
            name: "a file to decode",
            response: { serve(encoded, to: $1, coding: "gzip") },
            request: { $0.decodesContent = true }
        ),
        FaultScenario(
            name: "a partial file to decode without syncs",
            response: { serve(encoded, to: $1, coding: "gzip") },
            earlier: { serve(encoded, to: $1, sending: 6000, coding: "gzip") },
            request: { $0.decodesContent = true },
            configuration: { $0.durability = .none }
        ),
        FaultScenario(name: "a directory for partial files", earlier: cut(), partials: .same),
        FaultScenario(name: "partial files on another volume", earlier: cut(), partials: .other),
        FaultScenario(
            name: "partial files on another volume, without syncs",
            earlier: cut(),
            partials: .other,
            configuration: { $0.durability = .none }
        ),
        FaultScenario(
            name: "partial files on another volume, and an existing file to replace",
            existing: version(3),
            partials: .other,
            request: { $0.conflictPolicy = .overwrite }
        ),
        FaultScenario(
            name: "partial files on another volume, and a wrong checksum",
            response: { serve(version(2), to: $1, tag: "\"v2\"") },
            later: { serve(version(1), to: $1) },
            partials: .other,
            isResumable: false,
            failure: .checksum,
            request: expects(version(1))
        ),
        FaultScenario(
            name: "partial files on another volume to decode",
            response: { serve(encoded, to: $1, coding: "gzip") },
            earlier: { serve(encoded, to: $1, sending: 6000, coding: "gzip") },
            partials: .other,
            request: { $0.decodesContent = true }
        ),
        FaultScenario(name: "the current version", earlier: { serve(version(1), to: $1) }),
    ]
}
