import HeadracePlatform

@testable import Headrace

/// Response heads and range requests for the tests of the response evaluation.
enum HeadFixture {
    static let date = "Tue, 15 Nov 1994 12:45:26 GMT"
    static let lastModified = "Tue, 15 Nov 1994 12:00:00 GMT"
    static let laterModified = "Tue, 15 Nov 1994 12:30:00 GMT"

    /// A version with a strong tag, of 1000 bytes.
    static let tagged = RepresentationMetadata(
        entityTag: #""v1""#,
        lastModified: lastModified,
        date: date,
        totalBytes: 1000,
        contentType: "application/zip"
    )

    /// A version with a strong date and no tag, of 1000 bytes.
    static let dated = RepresentationMetadata(
        lastModified: lastModified,
        locationFingerprint: RepresentationMetadata.locationFingerprint(of: head(200).url),
        date: date,
        totalBytes: 1000,
        contentType: "application/zip"
    )

    static func head(_ status: Int, _ fields: KeyValuePairs<String, String> = [:]) -> ResponseHead {
        // The evaluation ignores the URL.
        ResponseHead(
            url: URL(filePath: "/"),
            status: status,
            fields: fields.map { HeaderField(name: $0.key, value: $0.value) }
        )
    }

    /// A part of the tagged version, with fields that replace its own, or remove them if empty.
    static func part(_ changes: [String: String] = [:], status: Int = 206) -> ResponseHead {
        let own = [
            "Accept-Ranges": "bytes", "Content-Length": "600", "Content-Range": "bytes 400-999/1000",
            "Content-Type": "application/zip", "Date": date, "ETag": #""v1""#, "Last-Modified": lastModified,
        ]
        return head(status, own, changes)
    }

    /// The whole tagged version, with fields that replace its own, or remove them if empty.
    static func whole(_ changes: [String: String] = [:]) -> ResponseHead {
        part(["Content-Length": "1000", "Content-Range": ""].merging(changes) { $1 }, status: 200)
    }

    private static func head(_ status: Int, _ own: [String: String], _ changes: [String: String]) -> ResponseHead {
        var head = head(status)
        head.fields = own.merging(changes) { $1 }.filter { !$0.value.isEmpty }.sorted { $0.key < $1.key }
            .map { HeaderField(name: $0.key, value: $0.value) }
        return head
    }

    /// A request for the bytes from 400 on, after the first 400 were received.
    static func rest(
        of known: RepresentationMetadata = tagged,
        to end: Int64? = nil,
        deferredVerification: RangeRequest.DeferredVerification? = nil
    ) throws -> RangeRequest {
        guard let range = ByteRange(from: 400, to: end) else { throw RestartReason.noValidator }
        return try RangeRequest(
            continuing: known,
            with: range,
            heldBytes: 400,
            deferredVerification: deferredVerification
        )
    }

    /// A request for the whole file after a restart, with the first 400 bytes of a version still stored.
    static func again(_ known: RepresentationMetadata = tagged) -> RangeRequest {
        RangeRequest(known: known, heldBytes: 400)
    }
}

extension ResponseVerdict {
    var body: BodyPlacement? {
        switch self {
        case .accept(let body), .restartFromThisBody(_, let body): body
        default: nil
        }
    }

    var isAccepted: Bool {
        if case .accept = self { true } else { false }
    }

    /// The reason for the restart, if this is one.
    var restartReason: RestartReason? {
        switch self {
        case .restart(let reason), .restartFromThisBody(let reason, _): reason
        default: nil
        }
    }
}
