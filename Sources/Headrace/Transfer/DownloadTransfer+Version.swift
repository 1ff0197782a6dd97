#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Files that are there already, and are fetched again only where the server has another version.
extension DownloadTransfer {
    /// What to ask for a file under where it is there already; nil where it is to be fetched in any case.
    func condition(at path: String, _ attempts: Attempts) -> VersionCondition? {
        guard attempts.resume.sendsCondition else { return nil }
        return keptVersion(at: path, from: attempts.sources.current)?.condition
    }

    /// Whether an accepted body is of the version that is there already under the name which the answer gives.
    func isKept(_ body: AcceptedBody, at path: String, _ attempts: Attempts) -> Bool {
        guard body.offset == 0, let version = keptVersion(at: path, from: attempts.sources.current) else {
            return false
        }
        return version.condition.isMet(by: body.representation) && version.size == body.totalBytes ?? version.size
    }

    /// The file there is the result; an empty partial that an earlier run left goes.
    func unchanged(_ path: String, _ session: PartialSession) -> FinishedFile {
        session.remove()
        return present(path, DownloadEvent.unchanged)
    }

    /// Whether the file there has the request's checksum, which proves it without a server; reads all of it.
    func isProven(at path: String) async throws -> Bool {
        guard request.refetchPolicy == .ifChanged, !request.checksums.isEmpty,
            let expected = attempts.verification.expected, (try? environment.files.status(path))??.kind == .regular
        else { return false }
        tell(.verifying)
        do {
            let found = try await Checksum.compute(expected.algorithm, ofFileAt: URL(filePath: path))
            if found == expected { tell(.verified(found)) }
            return found == expected
        } catch is DownloadError {
            // What cannot be read is fetched.
            return false
        }
    }

    /// The version that the file there is, unless somebody has changed it since, or it came from elsewhere.
    private func keptVersion(at path: String, from source: URL) -> KeptVersion? {
        // A checksum of the request asks for more than that the server has nothing else.
        guard request.refetchPolicy == .ifChanged, request.checksums.isEmpty,
            let status = (try? environment.files.status(path)) ?? nil,
            let line = try? environment.files.attribute(path, KeptVersion.attribute, KeptVersion.maxBytes),
            let version = KeptVersion(decoding: line), version.isOf(status, from: source)
        else { return nil }
        return version
    }
}

extension DownloadRequest {
    /// What happens to a file of the name: one that is to be kept up to date is replaced.
    var replacement: ConflictPolicy { refetchPolicy == .ifChanged ? .overwrite : conflictPolicy }
}
