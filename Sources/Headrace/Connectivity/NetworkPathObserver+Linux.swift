#if os(Linux)
import CHeadrace
import HeadracePlatform

/// Observes the network path through the kernel's messages, on a dedicated thread.
final class NetworkPathObserver: Sendable {
    private struct State {
        var netlink = NetlinkState()
        /// Whether observation has stopped, because of ``end()`` or an error.
        var isOver = false
    }

    /// The observer's state; the thread references it instead of the observer, so that the observer can be released.
    private final class Core: Sendable {
        /// The size of the receive buffer in bytes: the most that the kernel sends at once.
        private static let bufferBytes = 32 << 10

        let poller: hr_poller
        private let socket: Int32
        private let state = PublishingLock(State())
        private let update: @Sendable (NetworkPath?) -> Void

        init?(_ update: @escaping @Sendable (NetworkPath?) -> Void) {
            let socket = hr_netlink_open()
            guard socket >= 0 else { return nil }
            var poller = hr_poller()
            guard hr_poller_open(&poller) == 0 else {
                close(socket)
                return nil
            }
            guard hr_poller_watch(&poller, socket, Int32(HR_CSELECT_IN)) == 0 else {
                hr_poller_close(&poller)
                close(socket)
                return nil
            }
            self.socket = socket
            self.poller = poller
            self.update = update
        }

        deinit {
            withUnsafePointer(to: poller) { hr_poller_close(UnsafeMutablePointer(mutating: $0)) }
            close(socket)
        }

        func begin() {
            state.withLock { query($0.netlink.restart(), &$0) }
            read()
        }

        func end() {
            state.withLock { $0.isOver = true }
            withUnsafePointer(to: poller) { hr_poller_wake($0) }
        }

        /// Blocks until the kernel sends messages; returns `false` if observation has stopped.
        func wait() -> Bool {
            var ready = hr_ready()
            _ = withUnsafePointer(to: poller) { hr_poller_wait($0, &ready, 1, -1) }
            return !state.withLock { $0.isOver }
        }

        /// Processes the available messages without waiting; passes the path to `update` if it has changed, or `nil` if
        /// observation has stopped.
        func read() {
            state.publish { state, outbox in
                let before = state.netlink.path
                while !state.isOver, let messages = receive(&state) {
                    for message in messages {
                        switch state.netlink.apply(message, deviceType: deviceType) {
                        case .query(let question): query(question, &state)
                        case .fail: state.isOver = true
                        case .none: break
                        }
                    }
                }
                let path = state.isOver ? nil : state.netlink.path
                guard state.isOver || path != before && path != nil else { return }
                outbox.add { [update] in update(path) }
            }
        }

        /// Receives the next messages; returns `nil` if none are left.
        ///
        /// Returns an empty array if it sent a scheduled request instead, if messages were lost, or if an error has
        /// stopped observation.
        private func receive(_ state: inout State) -> [NetlinkMessage]? {
            var (count, failure) = (0, Int32(0))
            let bytes = [UInt8](unsafeUninitializedCapacity: Self.bufferBytes) { buffer, used in
                count = hr_netlink_receive(socket, buffer.baseAddress, buffer.count)
                if count < 0 { failure = errno }
                used = max(0, count)
            }
            guard count <= 0 else { return NetlinkMessage.all(in: bytes) }
            if count == 0 {
                guard let question = state.netlink.drained() else { return nil }
                query(question, &state)
            } else if failure == ENOBUFS {
                state.netlink.lost()
            } else {
                state.isOver = true
            }
            return []
        }

        private func query(_ question: NetlinkState.Question, _ state: inout State) {
            if hr_netlink_dump(socket, question.kind.rawValue, question.sequence) != 0 { state.isOver = true }
        }
    }

    private let core: Core
    private let thread: WorkerThread

    /// Starts to observe the network path and passes each path to `update`; returns `nil` if the system does not
    /// support it, or lacks the descriptors or the thread for it.
    init?(_ update: @escaping @Sendable (NetworkPath?) -> Void) {
        guard let core = Core(update) else { return nil }
        self.core = core
        // The kernel responds at once, so the first path is known before anything needs it.
        core.begin()
        let thread = try? WorkerThread(name: "headrace-path") {
            while core.wait() { core.read() }
        }
        guard let thread else {
            update(nil)
            return nil
        }
        self.thread = thread
    }

    /// Stops the observation; returns when the thread has finished.
    func end() async {
        core.end()
        await thread.join()
    }

    deinit {
        core.end()
    }

    /// Processes the kernel's messages so far, without waiting; passes the path to the closure if it has changed, or
    /// `nil` if observation has stopped.
    func refresh() {
        core.read()
    }
}

/// Returns the kind of device of an interface, such as `wlan`; `nil` if the system does not report it.
private func deviceType(_ name: String) -> String? {
    let file = open("/sys/class/net/\(name)/uevent", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    let bytes = [UInt8](unsafeUninitializedCapacity: 1024) { $1 = max(0, read(file, $0.baseAddress, $0.count)) }
    let lines = bytes.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
    return lines.first { $0.hasPrefix("DEVTYPE=") }.map { String($0.dropFirst("DEVTYPE=".count)) }
}
#endif
