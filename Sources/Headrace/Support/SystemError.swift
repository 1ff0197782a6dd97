import HeadracePlatform

/// What a system call answered instead of a result.
package struct SystemError: Error, Hashable, CustomStringConvertible {
    /// The call's `errno`.
    package let errno: Int32

    /// Creates an error from an `errno`.
    /// - Parameter errno: The number.
    package init(errno: Int32) {
        self.errno = errno
    }

    /// The system's own words, as in "no space left on device".
    package var description: String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard strerror_r(errno, &buffer, buffer.count) == 0 else { return "error \(errno)" }
        let words = String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return words.prefix(1).lowercased() + words.dropFirst()
    }
}

extension SystemError {
    /// Whether the file system does not have what was asked for.
    var isUnsupported: Bool { errno == ENOTSUP || errno == EOPNOTSUPP || errno == ENOSYS }

    /// Whether the file system has no sync: Linux answers with the last of these.
    var isSyncUnsupported: Bool { isUnsupported || errno == EINVAL }

    /// Whether the disk, or the user's part of it, has no room.
    var isDiskFull: Bool { errno == ENOSPC || errno == EDQUOT }
}
