import Headrace
import HeadracePlatform

/// The files that the command line names; all calls block.
enum Files {
    /// Reads the file, or standard input for `-`; stops after reading more than `maxBytes` bytes.
    static func read(_ path: String, maxBytes: Int = .max) throws(SystemError) -> [UInt8] {
        path == "-"
            ? try GivenFile.contents(ofOpen: STDIN_FILENO, maxBytes: maxBytes)
            : try GivenFile.contents(of: path, maxBytes: maxBytes)
    }

    /// Returns the status of the file at the path, following links; `nil` if there is none or it cannot be determined.
    static func status(_ path: String) -> FileStatus? { try? GivenFile.status(of: path) }

    static func exists(_ path: String) -> Bool { status(path) != nil }

    /// Returns whether the permissions let users besides the owner read the file; `false` if that cannot be determined.
    static func isReadableByOthers(_ path: String) -> Bool { (status(path)?.mode ?? 0) & 0o044 != 0 }

    static func isReadable(_ path: String) -> Bool { (try? GivenFile.checkReadable(path)) != nil }

    /// Returns whether the path does not exist; `false` if that cannot be determined.
    static func isMissing(_ path: String) -> Bool { (try? GivenFile.status(of: path) == nil) ?? false }
}

extension Option {
    /// Returns the result of `body`, which reads or parses the option's file `name`.
    ///
    /// A `SystemError` or `DownloadError` becomes a ``UsageError`` whose message names the option and the file.
    func reading<Value>(_ name: String, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as SystemError {
            throw UsageError(self, "\(name): \(error)")
        } catch let error as DownloadError {
            throw UsageError(self, "\(name): \(error.message)")
        }
    }
}
