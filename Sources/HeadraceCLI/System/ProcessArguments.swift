#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The arguments that the process was started with, without the name of the program.
///
/// On Linux these are read from `/proc/self/cmdline`: `CommandLine` searches for them beside the environment, and finds none
/// if a preloaded library has called `setenv` before `main`.
struct ProcessArguments: Equatable {
    private let arguments: [[UInt8]]

    /// Reads the form of `/proc/self/cmdline`, in which a zero byte follows each argument.
    init(commandLine bytes: [UInt8]) {
        var arguments = bytes.split(separator: 0, omittingEmptySubsequences: false).map(Array.init)
        if arguments.last?.isEmpty == true { arguments.removeLast() }
        self.arguments = Array(arguments.dropFirst())
    }

    /// The arguments of this process.
    static var current: ProcessArguments {
        #if os(Linux)
        if let bytes = contents(of: "/proc/self/cmdline"), !bytes.isEmpty {
            return ProcessArguments(commandLine: bytes)
        }
        #endif
        var bytes: [UInt8] = []
        for index in 0..<Int(CommandLine.argc) {
            guard let argument = CommandLine.unsafeArgv[index] else { break }
            bytes += UnsafeRawBufferPointer(start: argument, count: strlen(argument)) + [0]
        }
        return ProcessArguments(commandLine: bytes)
    }

    var texts: [String] { arguments.map { String(decoding: $0, as: UTF8.self) } }

    /// Throws if an argument is not valid UTF-8: its repaired text would name another file.
    func checkEncoding() throws(UsageError) {
        guard let index = arguments.firstIndex(where: { String(validating: $0, as: UTF8.self) == nil }) else { return }
        // By its number alone: it may be a secret.
        throw UsageError("argument \(index + 1) is not in UTF-8, which all arguments have to be")
    }

    #if os(Linux)
    private static func contents(of path: String) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes: [UInt8] = []
        while true {
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = read(file, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return nil }
            guard count > 0 else { return bytes }
            bytes += buffer[..<count]
        }
    }
    #endif
}
