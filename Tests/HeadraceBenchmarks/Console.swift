import HeadracePlatform

/// The process's output: results on standard output, progress and errors on standard error.
enum Console {
    static func print(_ text: String) {
        write(text + "\n", to: STDOUT_FILENO)
    }

    static func error(_ text: String) {
        write(text + "\n", to: STDERR_FILENO)
    }

    private static func write(_ text: String, to descriptor: Int32) {
        var text = text
        text.withUTF8 { bytes in
            // If the output cannot be written, there is no place to report the error.
            _ = FileSystem.writeAll(UnsafeRawBufferPointer(bytes), to: descriptor)
        }
    }
}
