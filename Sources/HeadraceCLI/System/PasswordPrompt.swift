import Headrace
import HeadracePlatform

/// Prompts for a password on the terminal; the call blocks.
enum PasswordPrompt {
    /// Prints the prompt and returns the line that the user types, without showing it; `nil` without a terminal.
    static func read(_ prompt: String) -> String? {
        guard let name = [STDERR_FILENO, STDIN_FILENO].lazy.compactMap({ ttyname($0) }).first else { return nil }
        let terminal = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)
        defer { close(terminal) }
        var saved = termios()
        guard terminal >= 0, tcgetattr(terminal, &saved) == 0 else { return nil }
        var silent = saved
        // Control-C arrives as a byte, so that the terminal is restored before the signal ends the process.
        silent.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
        guard tcsetattr(terminal, TCSAFLUSH, &silent) == 0 else { return nil }
        let console = Console(descriptor: terminal)
        console.write(prompt.printable)
        let (line, isInterrupted) = line(from: terminal)
        tcsetattr(terminal, TCSANOW, &saved)
        console.write("\n")
        if isInterrupted { raise(SIGINT) }
        return String(validating: line, as: UTF8.self)
    }

    /// Reads the bytes up to the end of the line, and whether Control-C or the end of the input ended it.
    private static func line(from terminal: Int32) -> ([UInt8], isInterrupted: Bool) {
        var line: [UInt8] = []
        // A limit of zero bytes returns after the first read.
        while let bytes = try? GivenFile.contents(ofOpen: terminal, maxBytes: 0), !bytes.isEmpty {
            for byte in bytes {
                switch byte {
                case 3: return (line, true)
                case 4 where line.isEmpty: return (line, true)
                case 4, 10, 13: return (line, false)
                // Removes a whole character of UTF-8.
                case 8, 127: while let byte = line.popLast(), byte & 0xC0 == 0x80 {}
                case 21: line = []
                default: line.append(byte)
                }
            }
        }
        return (line, true)
    }
}
