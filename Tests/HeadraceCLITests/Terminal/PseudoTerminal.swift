#if os(Linux)
import Testing
import HeadracePlatform

/// A pseudo-terminal for tests.
final class PseudoTerminal: Sendable {
    // Swift does not see the C functions that wrap these requests (ioctl_tty(2)).
    private static let setLock: UInt = 0x4004_5431
    private static let getNumber: UInt = 0x8004_5430

    let path: String
    private let main: Int32
    /// Keeps the output readable after the tool has ended.
    private let other: Int32

    init(columns: UInt16, rows: UInt16) throws {
        main = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)
        var lock: Int32 = 0
        var number: Int32 = 0
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        path =
            ioctl(main, Self.setLock, &lock) == 0 && ioctl(main, Self.getNumber, &number) == 0
                && ioctl(main, UInt(TIOCSWINSZ), &size) == 0 ? "/dev/pts/\(number)" : ""
        other = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
        try #require(other >= 0, "There are no pseudo-terminals here")
    }

    deinit {
        close(main)
        close(other)
    }

    /// Whether typed characters are shown.
    var echoes: Bool {
        var settings = termios()
        return tcgetattr(other, &settings) == 0 && settings.c_lflag & tcflag_t(ECHO) != 0
    }

    /// Types a text.
    func type(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            #if canImport(Glibc)
            _ = Glibc.write(main, bytes.baseAddress, bytes.count)
            #else
            _ = Musl.write(main, bytes.baseAddress, bytes.count)
            #endif
        }
    }

    /// The output since the last call.
    func read() -> [UInt8] {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            #if canImport(Glibc)
            let count = Glibc.read(main, &buffer, buffer.count)
            #else
            let count = Musl.read(main, &buffer, buffer.count)
            #endif
            guard count > 0 else { return all }
            all += buffer[..<count]
        }
    }
}
#else
/// Pseudo-terminals are implemented only for Linux.
final class PseudoTerminal: Sendable {
    let path = ""

    func type(_ text: String) {}

    func read() -> [UInt8] { [] }
}
#endif
