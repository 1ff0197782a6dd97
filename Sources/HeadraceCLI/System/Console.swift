import Headrace
import HeadracePlatform

/// A standard stream of the process; everything the tool prints goes through here.
struct Console: Sendable {
    static let output = Console(descriptor: STDOUT_FILENO)
    static let error = Console(descriptor: STDERR_FILENO)

    private static let hasReportedFailure = Locked(false)

    private let descriptor: Int32

    /// Writes the text in as few calls as the system takes; false where it is not all written.
    ///
    /// That standard output takes nothing more is told once, unless it is a pipe that nobody reads any more.
    @discardableResult
    func write(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while !rest.isEmpty {
                #if canImport(Glibc)
                let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
                #elseif canImport(Musl)
                let count = Musl.write(descriptor, rest.baseAddress, rest.count)
                #else
                let count = Darwin.write(descriptor, rest.baseAddress, rest.count)
                #endif
                if count >= 0 {
                    rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                } else if errno == EAGAIN {
                    // Someone who shares the terminal made it non-blocking.
                    var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    poll(&ready, 1, -1)
                } else if errno != EINTR {
                    if descriptor == STDOUT_FILENO, errno != EPIPE { Self.reportOutputFailed(errno) }
                    return false
                }
            }
            return true
        }
    }

    /// Writes lines with which a verb ends, and gives its status.
    func print(_ lines: [String]) -> ExitCode {
        write(lines.map { $0 + "\n" }.joined()) ? .success : .disk
    }

    func print(_ line: String) -> ExitCode { print([line]) }

    private static func reportOutputFailed(_ number: Int32) {
        let isFirst = hasReportedFailure.withLock { hasReported in
            defer { hasReported = true }
            return !hasReported
        }
        if isFirst { error.write("headrace: standard output cannot be written: \(Files.Failure(number).reason)\n") }
    }

    /// What the locale lets live lines be drawn with.
    static let glyphs = Glyphs { name in getenv(name).map { String(cString: $0) } }

    /// Ends the process.
    static func exit(_ status: ExitCode) -> Never {
        #if canImport(Glibc)
        Glibc.exit(status.code)
        #elseif canImport(Musl)
        Musl.exit(status.code)
        #else
        Darwin.exit(status.code)
        #endif
    }
}

extension Console {
    /// Whether lines can be redrawn in place.
    var canRedraw: Bool {
        guard isatty(descriptor) == 1, let terminal = getenv("TERM") else { return false }
        return strcmp(terminal, "dumb") != 0 && strcmp(terminal, "") != 0
    }

    /// Whether the terminal is ours now; a job in the background must not draw over its shell.
    var isForeground: Bool {
        let group = tcgetpgrp(descriptor)
        // A terminal that does not control us tells no group, and is free to draw on.
        return group < 0 || group == getpgrp()
    }

    /// The columns of the terminal, where it is one.
    var width: Int? { isatty(descriptor) == 1 ? size.columns : nil }

    /// The columns and rows of the terminal as they are now; of one that does not tell, as `COLUMNS` and `LINES` say.
    var size: (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return (Self.number("COLUMNS") ?? 80, Self.number("LINES") ?? 24)
        }
        return (min(Int(size.ws_col), Self.mostCells), min(Int(size.ws_row), Self.mostCells))
    }

    /// The most columns and rows that are believed, so that sums of them fit into numbers.
    private static let mostCells = 10_000

    private static func number(_ variable: String) -> Int? {
        getenv(variable).flatMap { Int(String(cString: $0)) }.flatMap { $0 > 0 ? min($0, mostCells) : nil }
    }
}
