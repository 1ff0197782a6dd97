import HeadracePlatform

/// The descriptors that a process begins with.
enum StandardStreams {
    /// Takes the places of standard streams that are closed: a file that got one of their numbers would be written to.
    static func hold() {
        for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) == -1 {
            // The lowest free number is this one. In the other direction, each use fails as that of a closed one does.
            _ = open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }
}
