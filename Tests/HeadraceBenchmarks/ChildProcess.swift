import HeadracePlatform

/// A child process that is not yet reaped, in its own process group.
struct ChildProcess: Sendable {
    /// The identifier of the spawned process and of its group.
    let id: pid_t
    /// Whether `id` is only the shell that started the measured process.
    private let isLauncher: Bool

    /// The kernel's report about a child that has ended.
    struct Exit: Sendable {
        let status: Int32
        /// The user and system time of the child and of the children it has waited for, in seconds.
        let cpu: Double
        /// The peak resident size in bytes.
        let peakMemory: Int

        /// The exit code as in a shell: 128 plus the number for a signal.
        var code: Int32 {
            let signal = status & 0x7f
            return signal != 0 ? 128 + signal : (status >> 8) & 0xff
        }

        /// The reason why the child failed; `nil` if it succeeded.
        var failure: String? {
            let signal = status & 0x7f
            if signal != 0 { return "ended by signal \(signal)" }
            let code = (status >> 8) & 0xff
            return code == 0 ? nil : "exit status \(code)"
        }
    }

    /// Starts a command whose time and memory will be measured.
    ///
    /// On Linux a process that execs inherits the peak memory of the process that spawned it, so anything smaller than
    /// this process would look as large (measured: wget 10 MiB instead of 5). Therefore a shell, which is small, forks
    /// the command, and this process adopts it. That adds the same millisecond to every contender.
    static func spawnMeasured(_ command: Command, home: String, log: String) throws -> ChildProcess {
        #if os(Linux)
        try Adoption.enable()
        let launcher = Command(
            executable: "/bin/sh",
            arguments: ["-c", "\"$@\" &", "sh", command.executable] + command.arguments,
            environment: command.environment
        )
        return ChildProcess(id: try spawn(launcher, home: home, log: log).id, isLauncher: true)
        #else
        return try spawn(command, home: home, log: log)
        #endif
    }

    /// Starts a command with no input, and with all output in `log`.
    ///
    /// The environment is built instead of inherited: a proxy variable or a configuration file in the user's home must
    /// not influence a comparison.
    static func spawn(_ command: Command, home: String, log: String) throws -> ChildProcess {
        #if canImport(Darwin)
        var actions: posix_spawn_file_actions_t?
        var attributes: posix_spawnattr_t?
        #else
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)

        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var mask = Signals.nothing
        var defaults = Signals.resettable
        posix_spawnattr_setsigmask(&attributes, &mask)
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        posix_spawnattr_setpgroup(&attributes, 0)
        let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP
        posix_spawnattr_setflags(&attributes, Int16(flags))

        var variables = ["HOME": home, "LC_ALL": "C"]
        for name in ["PATH", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"] {
            variables[name] = getenv(name).map { String(cString: $0) }
        }
        variables.merge(command.environment) { $1 }

        let arguments = CStrings([command.executable] + command.arguments)
        let environment = CStrings(variables.map { "\($0.key)=\($0.value)" })
        defer {
            arguments.release()
            environment.release()
        }
        var id: pid_t = 0
        let code = posix_spawn(
            &id,
            command.executable,
            &actions,
            &attributes,
            arguments.pointers,
            environment.pointers
        )
        guard code == 0 else { throw BenchmarkError.system("cannot start \(command.executable)", code) }
        return ChildProcess(id: id, isLauncher: false)
    }

    /// Waits for the child to end, and reaps it.
    ///
    /// The child is killed if it takes longer than `seconds` or if the run is interrupted.
    func wait(atMost seconds: Int) throws -> Exit {
        let deadline = MonotonicTime.now + Double(seconds)
        alarm(UInt32(clamping: seconds))
        defer { alarm(0) }
        do {
            while true {
                if let exit = poll() { return exit }
                guard MonotonicTime.now < deadline else { throw BenchmarkError("took longer than \(seconds) s") }
                try Signals.wait()
            }
        } catch {
            stop()
            throw error
        }
    }

    /// Terminates the child and its group: with SIGTERM, and with SIGKILL if it is still running after three seconds.
    ///
    /// Ignores interruptions, because this is the clean-up.
    func stop() {
        kill(-id, SIGTERM)
        for _ in 0..<300 {
            if poll() != nil { return }
            usleep(10_000)
        }
        kill(-id, SIGKILL)
        waitpid(isLauncher ? -id : id, nil, 0)
    }

    /// Returns how the child has ended, once; `nil` while it runs.
    func poll() -> Exit? {
        var status: Int32 = 0
        var usage = rusage()
        var ended = wait4(isLauncher ? -id : id, &status, WNOHANG, &usage)
        if isLauncher, ended == id { ended = wait4(-id, &status, WNOHANG, &usage) }
        if ended == 0 { return nil }
        // There is no process to wait for: the launcher could not start the command.
        if ended < 0 { return Exit(status: 127 << 8, cpu: 0, peakMemory: 0) }
        #if canImport(Darwin)
        let unit = 1
        #else
        let unit = 1024
        #endif
        return Exit(
            status: status,
            cpu: seconds(usage.ru_utime) + seconds(usage.ru_stime),
            peakMemory: Int(usage.ru_maxrss) * unit
        )
    }

    private func seconds(_ time: timeval) -> Double {
        Double(time.tv_sec) + Double(time.tv_usec) / 1_000_000
    }
}

/// A null-terminated array of C strings, freed by hand because `posix_spawn` needs it for one call only.
private struct CStrings {
    let pointers: [UnsafeMutablePointer<CChar>?]

    init(_ strings: [String]) {
        pointers = strings.map { strdup($0) } + [nil]
    }

    func release() {
        for pointer in pointers { free(pointer) }
    }
}

/// A clock that is not affected by changes of the system time.
enum MonotonicTime {
    static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1_000_000_000
    }
}

#if os(Linux)
/// Lets this process reap orphaned descendants.
private enum Adoption {
    static func enable() throws {
        // C declares prctl as variadic, which Swift cannot call; the kernel takes five words.
        typealias Prctl = @convention(c) (CInt, CUnsignedLong, CUnsignedLong, CUnsignedLong, CUnsignedLong) -> CInt
        guard let symbol = dlsym(nil, "prctl") else { throw BenchmarkError("this C library has no prctl") }
        let becomeSubreaper: CInt = 36  // PR_SET_CHILD_SUBREAPER
        guard unsafeBitCast(symbol, to: Prctl.self)(becomeSubreaper, 1, 0, 0, 0) == 0 else {
            throw BenchmarkError.system("cannot adopt the processes to be measured")
        }
    }
}
#endif
