import HeadracePlatform

/// A private view of a part of the system, for this process and its children.
enum Namespace {
    /// Moves to new namespaces of the kinds in the flags, such as `CLONE_NEWNS`; throws if that is not permitted.
    static func unshare(_ flags: CInt) throws {
        // Not every C library module exports `unshare`, but the flags are the same everywhere.
        typealias Unshare = @convention(c) (CInt) -> CInt
        guard let symbol = dlsym(nil, "unshare") else { throw BenchmarkError("this system has no namespaces") }
        guard unsafeBitCast(symbol, to: Unshare.self)(flags) == 0 else {
            throw BenchmarkError.system("cannot make a namespace")
        }
    }
}
