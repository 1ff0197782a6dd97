import Headrace
import HeadracePlatform

/// Holds a response back until the test opens it, which needs no sleep on either side.
///
/// It is a pipe, so that a server's thread can wait for it and for its socket at the same time.
package final class Gate: Sendable {
    let descriptor: Int32
    private let writer: Int32
    private let isOpened = Locked(false)

    /// Creates a shut gate.
    package init() throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw CallFailure("pipe") }
        for end in ends { keepFromChildren(end) }
        descriptor = ends[0]
        writer = ends[1]
    }

    /// Lets every response through that waits here, now and later.
    package func open() {
        isOpened.withLock { isOpened in
            guard !isOpened else { return }
            isOpened = true
            var byte: UInt8 = 0
            _ = write(writer, &byte, 1)
        }
    }

    deinit {
        close(descriptor)
        close(writer)
    }
}

/// Closes the descriptor in every process that this one will start.
///
/// Swift does not see the calls that open and mark in one step, so a child that starts between the two inherits it.
func keepFromChildren(_ descriptor: Int32) {
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
}
