package import HeadracePlatform

/// A child process in its own process group, with files as standard streams.
///
/// When the value is destroyed before the process has ended, the whole group is killed. Foundation's `Process` is not
/// used because on Linux, up to Swift 6.3.1, it reads past a buffer and occasionally crashes the test runner
/// (swift-corelibs-foundation, pull request 5472).
package struct ChildProcess: ~Copyable {
    /// How a process ended.
    package enum End: Sendable, Hashable {
        case exit(status: Int)
        case signal(Int32)
    }

    /// The identifier of the process and of its group.
    package let id: pid_t
    private var end: End?

    /// Starts a process.
    /// - Parameters:
    ///   - arguments: The path of the executable, and its arguments.
    ///   - environment: The whole environment, such as `TERM=xterm`; nothing is inherited.
    ///   - streams: The files for standard input, output and error; the latter two are truncated first.
    ///   - startsSession: Whether the process starts a session, which has no terminal until it opens one for reading.
    /// - Throws: `CallFailure` if the process cannot be started.
    package init(
        _ arguments: [String],
        environment: [String],
        streams: [String],
        startsSession: Bool = false
    ) throws {
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
            // Append, because output and error may share a file.
            let mode = descriptor == 0 ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC | O_APPEND
            posix_spawn_file_actions_addopen(&actions, Int32(descriptor), path, mode, 0o600)
        }
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // A test runner in the background ignores SIGINT, and its children would inherit that.
        var signals = sigset_t()
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        // Some servers signal their whole group when they end, which must not include the test runner.
        posix_spawnattr_setpgroup(&attributes, 0)
        let group = startsSession ? Self.newSession : Int32(POSIX_SPAWN_SETPGROUP)
        let flags = Int32(POSIX_SPAWN_SETSIGDEF) | Int32(POSIX_SPAWN_SETSIGMASK) | group
        posix_spawnattr_setflags(&attributes, Int16(flags))
        var words = arguments.map { strdup($0) } + [nil]
        var variables = environment.map { strdup($0) } + [nil]
        defer { for word in words + variables { free(word) } }
        var id: pid_t = 0
        let code = posix_spawn(&id, arguments[0], &actions, &attributes, &words, &variables)
        guard code == 0 else { throw CallFailure("posix_spawn(\(arguments[0]))", code: code) }
        self.id = id
    }

    private static var newSession: Int32 {
        #if canImport(Darwin)
        Int32(POSIX_SPAWN_SETSID)
        #else
        // POSIX_SPAWN_SETSID, which Glibc declares only under a feature macro.
        0x80
        #endif
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

    /// Sends a signal to the process only.
    package func send(_ signal: Int32) {
        kill(id, signal)
    }

    /// How the process ended; `nil` while it runs.
    package mutating func poll() -> End? {
        var status: Int32 = 0
        if end == nil, waitpid(id, &status, WNOHANG) == id {
            let signal = status & 0x7F
            end = signal == 0 ? .exit(status: Int(status >> 8 & 0xFF)) : .signal(signal)
        }
        return end
    }

    /// Suspends until the process has ended.
    /// - Parameter look: Called repeatedly while the process runs, and once after it has ended.
    /// - Returns: How it ended.
    /// - Throws: `CancellationError` if the waiting task is cancelled.
    package mutating func waitForEnd(_ look: () -> Void = {}) async throws -> End {
        while true {
            let end = poll()
            look()
            if let end { return end }
            // Poll, because blocking a pool thread per child could use up all threads: the machine may have two.
            try await Task.sleep(for: .milliseconds(3))
        }
    }
}
