import Headrace
import HeadracePlatform

#if canImport(Darwin)
import Darwin.crt_externs
import Foundation
#endif

/// Starts this tool in the background, and examines other processes.
enum Processes {
    /// Starts this tool in a new session, so that it survives the closing of the terminal; returns the process id.
    ///
    /// The process has no input, and appends its output to `log`.
    static func startDetached(_ arguments: [String], log: String) throws(SystemError) -> pid_t {
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
        posix_spawn_file_actions_addopen(
            &actions,
            STDOUT_FILENO,
            log,
            O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW,
            0o600
        )
        posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // The child must not inherit ignored or blocked signals.
        var signals = sigset_t()
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, newSession | Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        // If SIGCHLD were ignored, as some parents arrange, the child's exit status would be lost.
        signal(SIGCHLD, SIG_DFL)
        let executable = try executable()
        var words = ([executable] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var id: pid_t = 0
        let code = posix_spawn(&id, executable, &actions, &attributes, &words, environment)
        guard code == 0 else { throw SystemError(errno: code) }
        return id
    }

    /// Returns the exit status of a child process, or 128 plus the signal that ended it; `nil` while it runs.
    static func status(of child: pid_t) -> Int32? {
        var status: Int32 = 0
        guard waitpid(child, &status, WNOHANG) == child else { return nil }
        let signal = status & 0x7F
        return signal == 0 ? status >> 8 & 0xFF : 128 + signal
    }

    /// Returns whether the process with this id is running.
    static func isAlive(_ id: pid_t) -> Bool {
        #if os(Linux)
        // Reading this link fails for a zombie, which no longer has an executable.
        var byte: CChar = 0
        return readlink("/proc/\(id)/exe", &byte, 1) >= 0 || errno == EACCES
        #else
        return kill(id, 0) == 0 || errno == EPERM
        #endif
    }

    /// Returns the path of this executable.
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
