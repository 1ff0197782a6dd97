import HeadracePlatform

/// A detached thread for blocking work.
enum SystemThread {
    /// The thread's work as an object, because C passes a single pointer.
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
                // The argument is non-optional on Darwin and optional on Linux.
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
