extension BlockingExecutor {
    /// Creates an executor for blocking file calls; throws `fileSystem` if its first thread cannot be started.
    ///
    /// The limits are those of ``init(name:maxThreads:maxWorking:)``. With `executor`, all jobs run there instead, and
    /// no thread is started.
    static func forFiles(
        _ name: String,
        maxThreads: Int,
        maxWorking: Int,
        on executor: (any TaskExecutor)? = nil
    ) throws(DownloadError) -> BlockingExecutor {
        if let executor { return BlockingExecutor(without: name, on: executor) }
        do throws(SystemError) {
            return try BlockingExecutor(name: name, maxThreads: maxThreads, maxWorking: maxWorking)
        } catch {
            throw DownloadError(.fileSystem, "The thread for file calls could not be started: \(error).")
        }
    }
}
