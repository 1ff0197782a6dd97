import Headrace
import HeadracePlatform

/// A standard stream of the process, or its terminal; the tool prints only through this type.
struct Console: Sendable {
    static let output = Console(descriptor: STDOUT_FILENO)
    static let error = Console(descriptor: STDERR_FILENO)

    private static let hasReportedFailure = Locked(false)

    let descriptor: Int32

    /// Writes the text, and returns `success` or the exit status of the failure.
    ///
    /// The status is that of `SIGPIPE` if the stream is a pipe without a reader; for any other error, it is `disk`. The
    /// first failed write to standard output is reported, unless standard output is such a pipe.
    @discardableResult
    func write(_ text: String) -> ExitCode {
        var text = text
        guard let error = text.withUTF8({ write(UnsafeRawBufferPointer($0)) }) else { return .success }
        guard error.errno != EPIPE else { return .signal(SIGPIPE) }
        if descriptor == STDOUT_FILENO { Self.reportOutputFailed(error) }
        return .disk
    }

    /// Writes all bytes, or returns the error of the call that failed; blocks.
    func write(_ bytes: UnsafeRawBufferPointer) -> SystemError? {
        var rest = bytes
        while !rest.isEmpty {
            let count = HeadracePlatform.write(descriptor, rest.baseAddress, rest.count)
            if count >= 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            } else if errno == EAGAIN {
                // Another process that shares the terminal made it non-blocking.
                var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&ready, 1, -1)
            } else if errno != EINTR {
                return SystemError(errno: errno)
            }
        }
        return nil
    }

    /// Writes a message for the user, as a line that starts with the name of the tool.
    func note(_ message: String) { write("headrace: \(message)".printable + "\n") }

    /// Writes the final lines of a command, and returns the exit status as ``write(_:)`` does.
    func print(_ lines: [String]) -> ExitCode { write(lines.map { $0 + "\n" }.joined()) }

    func print(_ line: String) -> ExitCode { print([line]) }

    private static func reportOutputFailed(_ problem: SystemError) {
        let isFirst = hasReportedFailure.withLock { hasReported in
            defer { hasReported = true }
            return !hasReported
        }
        if isFirst { error.write("headrace: cannot write to standard output: \(problem)\n") }
    }

    /// The characters that the locale allows for progress lines.
    static let glyphs = Glyphs { name in getenv(name).map { String(cString: $0) } }

    static func exit(_ status: ExitCode) -> Never {
        HeadracePlatform.exit(status.code)
    }
}

extension Console {
    var isTerminal: Bool { isatty(descriptor) == 1 }

    /// Whether lines can be redrawn in place.
    var canRedraw: Bool {
        guard isTerminal, let terminal = getenv("TERM") else { return false }
        return strcmp(terminal, "dumb") != 0 && strcmp(terminal, "") != 0
    }

    /// Whether the process is in the terminal's foreground; a background job must not draw over the shell.
    var isForeground: Bool {
        let group = tcgetpgrp(descriptor)
        // The call fails if the terminal is not the controlling one; drawing is then allowed.
        return group < 0 || group == getpgrp()
    }

    /// The columns of the terminal; `nil` if the stream is not a terminal.
    var width: Int? { isatty(descriptor) == 1 ? size.columns : nil }

    /// The current columns and rows of the terminal, or else those of `COLUMNS` and `LINES`, or else 80 and 24.
    var size: (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return (Self.number("COLUMNS") ?? 80, Self.number("LINES") ?? 24)
        }
        return (min(Int(size.ws_col), Self.maxCells), min(Int(size.ws_row), Self.maxCells))
    }

    /// The largest plausible number of columns or rows, which prevents overflow in sums.
    private static let maxCells = 10_000

    private static func number(_ variable: String) -> Int? {
        getenv(variable).flatMap { Int(String(cString: $0)) }.flatMap { $0 > 0 ? min($0, maxCells) : nil }
    }
}
