import HeadracePlatform

/// The two ways out of the process: results on standard output, progress and complaints on standard error.
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
            // Nobody to tell when the output itself cannot be written.
            _ = FileSystem.writeAll(UnsafeRawBufferPointer(bytes), to: descriptor)
        }
    }
}
