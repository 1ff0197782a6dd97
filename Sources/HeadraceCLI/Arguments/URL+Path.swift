import HeadracePlatform

extension URL {
    /// The path without percent-encoding, for system calls and messages.
    var plainPath: String { path(percentEncoded: false) }

    /// Creates the URL of a file from a path on the command line, relative to `folder` or else to the current
    /// directory.
    ///
    /// A leading `~` is taken literally: expanding it is the shell's job, and a file name may start with it. `..` stays
    /// in the path, because the component before it may be a symbolic link, whose target has another parent directory.
    init(givenPath path: String, _ hint: DirectoryHint, from folder: URL? = nil) {
        let slash = UInt8(ascii: "/")
        guard path.utf8.first != slash else {
            self.init(filePath: path, directoryHint: hint)
            return
        }
        var bytes = Array((folder ?? .currentDirectory()).plainPath.utf8)
        let components = path.utf8.split(separator: slash, omittingEmptySubsequences: false)
        let names = components.filter { !$0.isEmpty && !$0.elementsEqual(".".utf8) }
        for name in names {
            if bytes.last != slash { bytes.append(slash) }
            bytes += name
        }
        // Such a path ends with a slash or a dot, so that it can only be a directory.
        let isDirectory = !path.isEmpty && names.last?.endIndex != path.utf8.endIndex
        self.init(filePath: String(decoding: bytes, as: UTF8.self), directoryHint: isDirectory ? .isDirectory : hint)
    }
}
