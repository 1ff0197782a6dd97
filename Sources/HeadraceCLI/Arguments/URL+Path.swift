import HeadracePlatform

extension URL {
    /// The file at a path as it was given, seen from the folder, or else from the current one.
    ///
    /// Foundation has a `~` at the beginning stand for a home folder; that is for a shell to do, and a name may begin so.
    init(givenPath path: String, _ hint: DirectoryHint, from folder: URL? = nil) {
        let isTilde = path.utf8.first == UInt8(ascii: "~")
        self = URL(filePath: isTilde ? "./\(path)" : path, directoryHint: hint, relativeTo: folder).absoluteURL
    }
}
