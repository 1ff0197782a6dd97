import HeadracePlatform

enum StandardStreams {
    /// Opens `/dev/null` as each standard stream that is closed.
    ///
    /// Otherwise a file that is opened later could get the stream's number and receive the tool's output.
    static func hold() {
        for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) == -1 {
            // `open` returns the lowest free number. Standard input is opened for writing and the others for reading,
            // so that their use fails as with a closed stream.
            _ = open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }
}
