#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// What is done where a file system does not have what a call asks for.
extension FileCalls {
    /// Gives an open file the mode of a new one, where that can be.
    func setNewFileMode(_ file: Int32) throws(SystemError) {
        do throws(SystemError) {
            try setMode(file, Self.newFileMode)
        } catch  where error.isUnsupported || error.errno == EPERM {
            // A mount that has one owner and one mode for all its files has chosen them for this one too.
        }
    }
}
