import Dispatch
import Headrace
import HeadracePlatform

/// Prompts for a password on the terminal.
enum PasswordPrompt {
    /// Prints the prompt and returns the line that the user types, without showing it; `nil` without a usable terminal,
    /// or if the line is not UTF-8.
    ///
    /// A stop signal, such as that of Control-C, and the end of the input throw ``Signals/Stop``. In any case, the
    /// terminal is restored.
    static func read(_ prompt: String) async throws -> String? {
        guard let name = [STDERR_FILENO, STDIN_FILENO].lazy.compactMap({ ttyname($0) }).first else { return nil }
        let terminal = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)
        defer { close(terminal) }
        var saved = termios()
        guard terminal >= 0, tcgetattr(terminal, &saved) == 0 else { return nil }
        var silent = saved
        silent.c_iflag |= tcflag_t(ICRNL)
        silent.c_lflag = silent.c_lflag & ~tcflag_t(ECHO) | tcflag_t(ICANON | ISIG)
        // Control-Z must not stop the process while the terminal is silent.
        let none = UInt8(truncatingIfNeeded: fpathconf(terminal, Int32(_PC_VDISABLE)))
        withUnsafeMutableBytes(of: &silent.c_cc) { $0[Int(VSUSP)] = none }
        let console = Console(descriptor: terminal)
        defer {
            // After a signal, the typed characters would otherwise be shown, and become the shell's next input.
            tcflush(terminal, TCIFLUSH)
            tcsetattr(terminal, TCSANOW, &saved)
            console.write("\n")
        }
        let line: [UInt8]? = try await Signals.cancelling { [silent] in
            try await DispatchQueue(label: "headrace-prompt").run {
                // A signal that ends the process at once would leave the terminal silent.
                Signals.registrations.wait()
                var silent = silent
                guard tcsetattr(terminal, TCSAFLUSH, &silent) == 0 else { return nil }
                console.write(prompt.printable)
                // The limit ends the call after the first read, which returns one line.
                return (try? GivenFile.contents(ofOpen: terminal, maxBytes: 0)) ?? []
            }
        }
        guard line?.isEmpty != true else { throw Signals.Stop(signal: SIGINT) }
        return line.flatMap { String(validating: $0.filter { $0 >= 0x20 && $0 != 0x7F }, as: UTF8.self) }
    }
}
