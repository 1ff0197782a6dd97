import HeadracePlatform

/// A detached thread, for work that blocks.
enum SystemThread {
    /// What a thread is to do, as an object: C hands a single pointer to it.
    private final class Work: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) {
            self.run = run
        }
    }

    static func start(_ body: @escaping @Sendable () -> Void) throws {
        #if canImport(Darwin)
        var thread: pthread_t?
        #else
        var thread = pthread_t()
        #endif
        let work = Unmanaged.passRetained(Work(body))
        let code = pthread_create(
            &thread,
            nil,
            { argument in
                pthread_detach(pthread_self())
                // Darwin says that there is an argument, Linux that there may be.
                let argument: UnsafeMutableRawPointer? = argument
                if let argument { Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().run() }
                return nil
            },
            work.toOpaque()
        )
        guard code == 0 else {
            work.release()
            throw BenchmarkError.system("cannot start a thread", code)
        }
    }
}
