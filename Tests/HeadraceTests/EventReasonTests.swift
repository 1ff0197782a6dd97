import Headrace
import Testing

/// The sentences of the reasons in events; the JSON lines of the tool contain them.
@Suite(.timeLimit(.minutes(1)))
struct EventReasonTests {
    private static let error = DownloadError(.checksum, "The file is wrong.")

    private static let restarts: [(RestartReason, String)] = [
        (.changedEntityTag, "The file changed on the server: its entity tag is different."),
        (.changedLastModified, "The file changed on the server: its modification date is different."),
        (.changedLength(from: 1, to: 2), "The file changed on the server: it had 1 bytes and now has 2."),
        (.noValidator, "The server sent no validator to show that the file is unchanged."),
        (.differentURL, "The file now comes from another URL, and its date does not show that it is unchanged."),
        (.differentRequester, "The received bytes were requested with other header fields or another login."),
        (
            .weakValidator,
            "The server's entity tag is weak, malformed or based on the size, and does not show that the file is unchanged."
        ),
        (.validatorBecameWeak, "The server's entity tag became weak and does not show that the file is unchanged."),
        (.validatorMissing, "The response lacks the validator that the received bytes came with."),
        (.overlapDiffers, "The file changed on the server: its bytes differ from the last ones received."),
        (.overlapMissing, "The response was too short to compare it with the received bytes."),
        (.rangesRefused, "The server does not support range requests."),
        (.rangeIgnored, "The server sent the whole file instead of the rest."),
        (.rangeMisplaced(requested: 1, got: 2), "The server sent bytes from position 2 instead of 1."),
        (.missingContentRange, "The server sent a part of the file without a Content-Range."),
        (.invalidContentRange, "The server sent a part of the file with an invalid Content-Range."),
        (.multipart, "The server sent several parts although one was requested."),
        (.changedContentCoding, "The server sends the file in another content coding than before."),
        (.contentCoding, "The server encodes the file, so its parts cannot be combined."),
        (.unverified, "The received bytes need a checksum to verify them, and the request no longer has one."),
        (.wrongSize(expected: 1), "The received bytes do not fit the expected size of 1 bytes."),
        (.unverifiedEnd, "The server sent the file over HTTP/2 without its size, so it may be truncated."),
        (.preconditionFailed, "The file changed on the server, which refused to send the rest."),
        (.unsatisfiable(length: 1), "The server has only 1 bytes and cannot send the rest."),
        (.unsatisfiable(length: nil), "The server cannot send the rest."),
        (.partRefused(length: 1), "The server refused to send the rest, although it has 1 bytes."),
        (.resumingDisabled, "Resuming the bytes of an earlier run is disabled."),
        (.recordMissing, "It is unknown which version of the file the received bytes belong to."),
        (.recordNotAFile, "The resume record is not a regular file."),
        (.recordDamaged, "The resume record is damaged."),
        (.recordOfOtherURL, "The received bytes are of another URL."),
        (.bytesNotOnDisk, "None of the received bytes are known to be on the disk."),
        (
            .partialFileGone,
            "The partial file is gone: it was removed, perhaps by the system to free space, or linked under a second name, "
                + "which is used now."
        ),
        (.mismatch(error), "The file is wrong."),
        (.noResumeData, "The system stopped the download and returned no data to resume it."),
        (.resumeDataInvalid, "The system's resume data is damaged."),
        (.resumeDataTooOld, "The system's resume data is more than a week old."),
        (.resumeDataRefused, "The system rejected its resume data, perhaps because it deleted the bytes."),
        (.taskLost, "The system no longer has the download, and returned no data to resume it."),
        (.filePurged, "The system removed the file before it could be moved into place."),
        (.otherBytesHeld, "A background session cannot resume from bytes that it did not download itself."),
    ]

    private static let ends: [(ConnectionEndReason, String)] = [
        (.delivered, "Other connections delivered its bytes."),
        (.slow, "It was silent, or much slower than the others."),
        (.slowSource, "It is slower than another source."),
        (.hostLimit, "The host's connections are shared with other downloads, or it allows fewer of them."),
        (.surplus, "Fewer connections are as fast."),
        (.readerDemand, "A reader needs other bytes of the file first."),
        (.failed(error), "The file is wrong."),
        (.unverifiedParts, "The parts could not be verified to be of one version."),
        (.unusableParts, "The server did not send the parts as requested."),
    ]

    @Test func `each reason for a restart has its own sentence`() {
        for (reason, sentence) in Self.restarts { #expect("\(reason)" == sentence) }
        #expect(Set(Self.restarts.map(\.1)).count == Self.restarts.count)
    }

    @Test func `each reason for the end of a connection has its own sentence`() {
        for (reason, sentence) in Self.ends { #expect("\(reason)" == sentence) }
    }

    @Test func `each reason to resume has its own sentence`() {
        let sentences: [ResumeProof: String] = [
            .entityTag: "The entity tag is the same.",
            .lastModified: "The date is the same and old enough.",
            .checksum: "The checksum verifies the file at the end.",
            .overlap: "The server sent no validator, but the last received bytes were downloaded again and match.",
            .system: "The system has validated the received bytes with the server.",
        ]
        for proof in ResumeProof.allCases { #expect("\(proof)" == sentences[proof]) }
    }
}
