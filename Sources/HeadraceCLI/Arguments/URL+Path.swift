import HeadracePlatform

extension URL {
    /// The path without percent-encoding, for system calls and messages.
    var plainPath: String { path(percentEncoded: false) }

    /// Creates the URL of a file from a path on the command line, relative to `folder` or else to the current
    /// directory.
    ///
    /// A leading `~` is taken literally: expanding it is the shell's job, and a file name may start with it.
    init(givenPath path: String, _ hint: DirectoryHint, from folder: URL? = nil) {
        let isTilde = path.utf8.first == UInt8(ascii: "~")
        self = URL(filePath: isTilde ? "./\(path)" : path, directoryHint: hint, relativeTo: folder).absoluteURL
    }
}
