import HeadracePlatform

#if canImport(CDispatch)
// If Dispatch is loaded before the C library, the thread structures count as Dispatch's.
import CDispatch
#endif

/// A joinable thread with a small stack, so that a thousand of them need only a quarter of a gigabyte of address space.
struct PosixThread: Sendable {
    /// Carries the body through the thread's one untyped argument.
    private final class Start: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }

    private static let stackSize = 256 * 1024

    private let handle: Handle

    /// Starts the thread, which must be joined exactly once.
    init(_ body: @escaping @Sendable () -> Void) throws {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setstacksize(&attributes, PosixThread.stackSize)
        let start = Unmanaged.passRetained(Start(body))
        var handle = Handle.none
        #if canImport(Darwin)
        let code = pthread_create(
            &handle,
            &attributes,
            { argument in
                Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().body()
                return nil
            },
            start.toOpaque()
        )
        #else
        let code = pthread_create(
            &handle,
            &attributes,
            { argument in
                if let argument { Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().body() }
                return nil
            },
            start.toOpaque()
        )
        #endif
        guard code == 0 else {
            start.release()
            throw CallFailure("pthread_create", code: code)
        }
        self.handle = Handle(bits: handle)
    }

    /// Blocks until the body has returned and the thread has ended.
    func join() {
        pthread_join(handle.bits, nil)
    }
}

#if canImport(Glibc)
private struct Handle: Sendable {
    static let none = pthread_t()

    let bits: pthread_t
}
#else
/// The thread's address as a number: pointers are not `Sendable`, and this one is never dereferenced here.
private struct Handle: Sendable {
    static var none: pthread_t? { nil }

    private let address: Int

    init(bits: pthread_t?) {
        address = Int(bitPattern: bits)
    }

    var bits: pthread_t {
        guard let thread = pthread_t(bitPattern: address) else { preconditionFailure("A thread without a handle") }
        return thread
    }
}
#endif
