import HeadracePlatform

/// The command line arguments of this process as bytes, because they need not be UTF-8.
enum ProcessArguments {
    /// Returns all arguments, starting with the program's name.
    static func all() -> [[UInt8]] {
        #if os(Linux)
        // Swift's runtime finds no arguments if a preloaded library has changed the environment before `main`.
        if CommandLine.argc == 0, let line = try? Files.read("/proc/self/cmdline") { return split(line) }
        #endif
        return (0..<Int(CommandLine.argc)).compactMap { index in
            CommandLine.unsafeArgv[index].map { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) }
        }
    }

    /// Splits the content of `/proc/PID/cmdline`, where each argument ends with a NUL (proc_pid_cmdline(5)).
    static func split(_ line: [UInt8]) -> [[UInt8]] {
        var arguments = line.split(separator: 0, omittingEmptySubsequences: false)
        if arguments.last?.isEmpty == true { arguments.removeLast() }
        return arguments.map(Array.init)
    }
}
