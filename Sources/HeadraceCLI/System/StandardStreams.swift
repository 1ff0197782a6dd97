import HeadracePlatform

/// The descriptors 0, 1 and 2 of the process.
enum StandardStreams {
    /// Opens closed standard streams, because a file that got one of their numbers would receive the tool's output.
    static func hold() {
        for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) == -1 {
            // `open` returns the lowest free number. The opposite direction makes the stream fail like a closed one.
            _ = open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }
}
