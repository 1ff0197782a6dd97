import HeadracePlatform

/// A view of a part of the system that only this process and its children have.
enum Namespace {
    /// Leaves what the flags name, as `CLONE_NEWNS`, for a namespace of its own; throws where that is not allowed.
    static func unshare(_ flags: CInt) throws {
        // Not every C library's module has it: the kernel takes the same words everywhere.
        typealias Unshare = @convention(c) (CInt) -> CInt
        guard let symbol = dlsym(nil, "unshare") else { throw BenchmarkError("this system has no namespaces") }
        guard unsafeBitCast(symbol, to: Unshare.self)(flags) == 0 else {
            throw BenchmarkError.system("cannot make a namespace")
        }
    }
}
