import HeadracePlatform

/// The error of a failed system call.
package struct SystemError: Error, Hashable, CustomStringConvertible {
    /// The `errno` of the call.
    package let errno: Int32

    /// Creates an error from an `errno`.
    /// - Parameter errno: The error number.
    package init(errno: Int32) {
        self.errno = errno
    }

    /// The system's description of the error, such as "no space left on device".
    package var description: String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard strerror_r(errno, &buffer, buffer.count) == 0 else { return "error \(errno)" }
        let words = String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return words.prefix(1).lowercased() + words.dropFirst()
    }
}

extension SystemError {
    /// Whether the file system does not support the operation.
    var isUnsupported: Bool { errno == ENOTSUP || errno == EOPNOTSUPP || errno == ENOSYS }

    /// Whether the file system does not support syncing, which Linux reports as `EINVAL`.
    var isSyncUnsupported: Bool { isUnsupported || errno == EINVAL }

    /// Whether the disk is full or the user's disk quota is exhausted.
    var isDiskFull: Bool { errno == ENOSPC || errno == EDQUOT }

    /// Whether the process, or the system, has too many open files.
    var isOutOfDescriptors: Bool { errno == EMFILE || errno == ENFILE }
}
