import Headrace
import HeadracePlatform

/// Holds a response back until the test opens the gate, so neither side needs to sleep.
///
/// A pipe, so that a server thread can wait for the gate and for its socket at the same time.
package final class Gate: Sendable {
    let descriptor: Int32
    private let writer: Int32
    private let isOpened = Locked(false)

    /// Creates a closed gate.
    package init() throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw CallFailure("pipe") }
        for end in ends { keepFromChildren(end) }
        descriptor = ends[0]
        writer = ends[1]
    }

    /// Releases every response that waits for this gate, now or later.
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

/// Marks the descriptor as close-on-exec.
///
/// Swift does not import the calls that open and mark in one step, so a child started in between inherits it.
func keepFromChildren(_ descriptor: Int32) {
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
}
