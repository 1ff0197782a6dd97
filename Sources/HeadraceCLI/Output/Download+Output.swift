import Dispatch
import Headrace
import HeadracePlatform

extension Download {
    /// Copies the file to standard output while it is downloaded, one chunk at a time.
    ///
    /// Returns the number of written bytes, and the error that ended the copy: that of the download, of a read, or of
    /// a write; `nil` if the whole file was written.
    func copyToOutput() async -> (bytesWritten: Int64, failure: (any Error)?) {
        var count: Int64 = 0
        do {
            for try await bytes in bytes() {
                try await Console.output.write(bytes)
                count += Int64(bytes.count)
            }
            return (count, nil)
        } catch let error as DownloadError where error.code == .resourceChanged {
            guard let reason = error.cause as? RestartReason else {
                // The bytes were discarded because they are wrong, and the download itself fails.
                for await _ in events {}
                return (count, error)
            }
            let size = Format.size(count)
            let problem = "the download had to start over after \(size) were written to standard output: \(reason)"
            let code = if case .mismatch(let mismatch) = reason { mismatch.code } else { error.code }
            return (count, DownloadError(code, problem))
        } catch {
            return (count, error)
        }
    }
}

extension Console {
    private static let queue = DispatchQueue(label: "headrace-output")

    /// Writes the bytes on a Dispatch queue.
    ///
    /// If the task is cancelled, throws without waiting for the write: the reader of a full pipe may never read again.
    fileprivate func write(_ bytes: Data) async throws {
        if let error = try await Self.queue.run({ bytes.withUnsafeBytes(write) }) { throw error }
    }
}
