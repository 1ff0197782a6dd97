extension BlockingExecutor {
    /// Creates an executor for blocking file calls; throws `fileSystem` if its first thread cannot be started.
    static func forFiles(_ name: String, maxThreads: Int, maxWorking: Int) throws(DownloadError) -> BlockingExecutor {
        do throws(SystemError) {
            return try BlockingExecutor(name: name, maxThreads: maxThreads, maxWorking: maxWorking)
        } catch {
            throw DownloadError(.fileSystem, "The thread for file calls could not be started: \(error).")
        }
    }
}
