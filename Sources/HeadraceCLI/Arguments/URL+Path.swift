import HeadracePlatform

extension URL {
    /// The file at a path from the command line, relative to `folder` or else to the current directory.
    ///
    /// A leading `~` is taken literally. Foundation would expand it, but that is the shell's job, and a name may start with it.
    init(givenPath path: String, _ hint: DirectoryHint, from folder: URL? = nil) {
        let isTilde = path.utf8.first == UInt8(ascii: "~")
        self = URL(filePath: isTilde ? "./\(path)" : path, directoryHint: hint, relativeTo: folder).absoluteURL
    }
}
