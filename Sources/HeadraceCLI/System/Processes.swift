import Headrace
import HeadracePlatform

#if canImport(Darwin)
import Darwin.crt_externs
import Foundation
#endif

/// Starts this tool in the background, runs the commands of ``Hooks``, and examines other processes.
enum Processes {
    /// Starts this tool in a new session, so that it survives the closing of the terminal; returns the process id.
    ///
    /// The process has no input, and appends its output to `log`.
    static func startDetached(_ arguments: [String], log: String) throws(SystemError) -> pid_t {
        try spawn([try executable()] + arguments, log: log, flags: newSession)
    }

    /// Runs a program, found in `PATH`, without input and with its output on standard error; blocks until it has ended.
    ///
    /// `variables`, such as `NAME=VALUE`, are added to its environment. Returns its exit status, or 128 plus the signal
    /// that ended it.
    static func run(_ words: [String], _ variables: [String]) throws(SystemError) -> Int32 {
        try wait(for: spawn(words, variables))
    }

    /// Ends a program that ``output(of:_:until:)`` runs and the programs that it started, or prevents its start.
    final class Ending: Sendable {
        private let state = Locked<(isEnded: Bool, child: pid_t?)>((false, nil))

        func end() {
            state.withLock { state in
                state.isEnded = true
                if let child = state.child { kill(-child, SIGTERM) }
            }
        }

        fileprivate func start(_ spawn: () throws(SystemError) -> pid_t) throws(SystemError) -> pid_t {
            try state.withLock { state throws(SystemError) in
                guard !state.isEnded else { throw SystemError(errno: ECANCELED) }
                let child = try spawn()
                state.child = child
                return child
            }
        }

        /// Waits until the program has exited; after that, its id may be another process's.
        fileprivate func waitForExit(of child: pid_t) {
            var info = siginfo_t()
            while waitid(P_PID, id_t(child), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
            state.withLock { $0.child = nil }
        }
    }

    /// Runs a program like ``run(_:_:)``, and also returns its output, which may be cut off after 64 KiB.
    ///
    /// Blocks until the program has ended and its output is closed. `ending` can end the program with SIGTERM, and the
    /// programs that it started, because they are in a session of their own.
    static func output(
        of words: [String],
        _ variables: [String],
        until ending: Ending
    ) throws(SystemError) -> (Int32, [UInt8]) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw SystemError(errno: errno) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let child = Result { () throws(SystemError) in
            try ending.start { () throws(SystemError) in
                try spawn(words, variables, output: ends[1], flags: newSession)
            }
        }
        close(ends[1])
        let output = try? GivenFile.contents(ofOpen: ends[0], maxBytes: 64 << 10)
        close(ends[0])
        let id = try child.get()
        ending.waitForExit(of: id)
        return (try wait(for: id), output ?? [])
    }

    private static func wait(for id: pid_t) throws(SystemError) -> Int32 {
        var status: Int32 = 0
        while waitpid(id, &status, 0) != id {
            guard errno == EINTR else { throw SystemError(errno: errno) }
        }
        return code(of: status)
    }

    /// Starts a program; its output goes to the end of `log`, or else to `output`.
    private static func spawn(
        _ arguments: [String],
        _ variables: [String] = [],
        log: String? = nil,
        output: Int32 = STDERR_FILENO,
        flags: Int16 = 0
    ) throws(SystemError) -> pid_t {
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
        if let log {
            let mode = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW
            posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log, mode, 0o600)
            posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
        } else {
            posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        }
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // The child must not inherit ignored or blocked signals.
        var signals = sigset_t()
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, flags | Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        // If SIGCHLD were ignored, as some parents arrange, the child's exit status would be lost.
        signal(SIGCHLD, SIG_DFL)
        var words = arguments.map { strdup($0) } + [nil]
        let added = variables.map { strdup($0) }
        defer { for word in words + added { free(word) } }
        var inherited: [UnsafeMutablePointer<CChar>?] = []
        while let entry = environment?[inherited.count] { inherited.append(entry) }
        // The old values must go: if a variable occurs twice, some programs use the last value, others the first.
        let names = variables.map { "\($0.prefix { $0 != "=" })=" }
        inherited.removeAll { entry in
            entry.map { entry in names.contains { strncmp(entry, $0, $0.utf8.count) == 0 } } == true
        }
        var environment = inherited + added + [nil]
        var id: pid_t = 0
        let code = posix_spawnp(&id, arguments[0], &actions, &attributes, &words, &environment)
        guard code == 0 else { throw SystemError(errno: code) }
        return id
    }

    /// Returns the exit status of a child process, or 128 plus the signal that ended it; `nil` while it runs.
    static func status(of child: pid_t) -> Int32? {
        var status: Int32 = 0
        return waitpid(child, &status, WNOHANG) == child ? code(of: status) : nil
    }

    private static func code(of status: Int32) -> Int32 {
        let signal = status & 0x7F
        return signal == 0 ? status >> 8 & 0xFF : 128 + signal
    }

    static func isAlive(_ id: pid_t) -> Bool {
        #if os(Linux)
        // Reading this link fails for a zombie, which no longer has an executable.
        var byte: CChar = 0
        return readlink("/proc/\(id)/exe", &byte, 1) >= 0 || errno == EACCES
        #else
        return kill(id, 0) == 0 || errno == EPERM
        #endif
    }

    static func executable() throws(SystemError) -> String {
        #if os(Linux)
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        guard count > 0, count < buffer.count else { throw SystemError(errno: count < 0 ? errno : ENAMETOOLONG) }
        return String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
        #else
        guard let path = Bundle.main.executablePath else { throw SystemError(errno: ENOENT) }
        return path
        #endif
    }

    private static var environment: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? {
        #if canImport(Darwin)
        _NSGetEnviron().pointee
        #else
        environ
        #endif
    }

    private static var newSession: Int16 {
        #if canImport(Darwin)
        Int16(POSIX_SPAWN_SETSID)
        #else
        // POSIX_SPAWN_SETSID, which Glibc declares only under a feature macro that the importer may not set.
        0x80
        #endif
    }
}
