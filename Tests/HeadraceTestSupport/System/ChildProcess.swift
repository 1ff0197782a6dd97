package import HeadracePlatform

/// A process that was started, with files as its input and output, in a process group of its own.
///
/// Where nobody has waited for its end, it is killed, with all that it started and left in the group.
///
/// Not Foundation's `Process`, which on Linux, up to Swift 6.3.1, reads past a buffer and now and then ends the test runner
/// (swift-corelibs-foundation, pull request 5472).
package struct ChildProcess: ~Copyable {
    /// How a process ended.
    package enum End: Sendable, Hashable {
        case exit(status: Int)
        case signal(Int32)
    }

    /// The process, and its group.
    package let id: pid_t
    private var end: End?

    /// Starts a process.
    /// - Parameters:
    ///   - arguments: The path of the executable, and its arguments.
    ///   - environment: All of its environment, as in `TERM=xterm`; nothing is inherited.
    ///   - streams: The files of the standard input, output and errors; the latter two are emptied first.
    /// - Throws: `CallFailure` when it cannot be started.
    package init(_ arguments: [String], environment: [String], streams: [String]) throws {
        #if canImport(Darwin)
        var actions: posix_spawn_file_actions_t?
        var attributes: posix_spawnattr_t?
        #else
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (descriptor, path) in streams.enumerated() {
            // Appending, since output and errors may go to one file.
            let mode = descriptor == 0 ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC | O_APPEND
            posix_spawn_file_actions_addopen(&actions, Int32(descriptor), path, mode, 0o600)
        }
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // A test runner in the background ignores SIGINT, and its children would as well.
        var signals = sigset_t()
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        // Some servers signal their whole group when they end, and the test runner is not to be in it.
        posix_spawnattr_setpgroup(&attributes, 0)
        let flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP
        posix_spawnattr_setflags(&attributes, Int16(flags))
        var words = arguments.map { strdup($0) } + [nil]
        var variables = environment.map { strdup($0) } + [nil]
        defer { for word in words + variables { free(word) } }
        var id: pid_t = 0
        let code = posix_spawn(&id, arguments[0], &actions, &attributes, &words, &variables)
        guard code == 0 else { throw CallFailure("posix_spawn(\(arguments[0]))", code: code) }
        self.id = id
    }

    deinit {
        if end == nil { Self.end(id) }
    }

    /// Kills the process and its group.
    package mutating func stop() {
        guard end == nil else { return }
        Self.end(id)
        end = .signal(SIGKILL)
    }

    private static func end(_ id: pid_t) {
        kill(-id, SIGKILL)
        waitpid(id, nil, 0)
    }

    /// Sends a signal to the process alone.
    package func send(_ signal: Int32) {
        kill(id, signal)
    }

    /// How the process ended; nil while it runs.
    package mutating func poll() -> End? {
        var status: Int32 = 0
        if end == nil, waitpid(id, &status, WNOHANG) == id {
            let signal = status & 0x7F
            end = signal == 0 ? .exit(status: Int(status >> 8 & 0xFF)) : .signal(signal)
        }
        return end
    }

    /// Suspends until the process has ended.
    /// - Parameter look: Called again and again in the meantime, and once thereafter.
    /// - Returns: How it ended.
    /// - Throws: `CancellationError` when the waiting task is cancelled.
    package mutating func waitForEnd(_ look: () -> Void = {}) async throws -> End {
        while true {
            let end = poll()
            look()
            if let end { return end }
            // No thread is blocked for a child: the machine may have two.
            try await Task.sleep(for: .milliseconds(3))
        }
    }
}
