#if os(Linux)
import CHeadrace
import HeadracePlatform

/// Reads what the kernel tells of the network, on a thread of its own.
final class NetworkPathObserver: Sendable {
    private struct State {
        var netlink = NetlinkState()
        /// Whether nobody is left who wants to know, or the kernel does not tell.
        var isOver = false
    }

    /// What the thread works with; it must not keep the watch alive.
    private final class Core: Sendable {
        /// As much as the kernel gives at once.
        private static let bufferBytes = 32 << 10

        let poller: hr_poller
        private let socket: Int32
        private let state = Locked(State())
        private let update: @Sendable (NetworkPath?) -> Void

        init?(_ update: @escaping @Sendable (NetworkPath?) -> Void) {
            let socket = hr_netlink_open()
            guard socket >= 0 else { return nil }
            var poller = hr_poller()
            guard hr_poller_open(&poller) == 0 else {
                close(socket)
                return nil
            }
            hr_poller_watch(&poller, socket, Int32(HR_CSELECT_IN))
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

        /// Waits for messages; false where there will be no more.
        func wait() -> Bool {
            var ready = hr_ready()
            _ = withUnsafePointer(to: poller) { hr_poller_wait($0, &ready, 1, -1) }
            return !state.withLock { $0.isOver }
        }

        /// Takes in what is there, without waiting.
        func read() {
            // Under the lock, so that the newest path is told last.
            state.withLock { state in
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
                if state.isOver { return update(nil) }
                guard let path = state.netlink.path, path != before else { return }
                update(path)
            }
        }

        /// Nil where there is nothing more at the moment.
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

    /// Begins to watch, and tells each path; nil where the system does not tell.
    init?(_ update: @escaping @Sendable (NetworkPath?) -> Void) {
        guard let core = Core(update) else { return nil }
        self.core = core
        // The kernel has the answers ready: the first path is known before anybody asks.
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

    /// Tells no more; returns when the thread has ended.
    func end() async {
        core.end()
        await thread.join()
    }

    deinit {
        core.end()
    }

    /// Takes in what the kernel has told by now, without waiting.
    func refresh() {
        core.read()
    }
}

/// What kind of device an interface is, as in `wlan`; nil where the system does not tell.
private func deviceType(_ name: String) -> String? {
    let file = open("/sys/class/net/\(name)/uevent", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    let bytes = [UInt8](unsafeUninitializedCapacity: 1024) { $1 = max(0, read(file, $0.baseAddress, $0.count)) }
    let lines = bytes.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
    return lines.first { $0.hasPrefix("DEVTYPE=") }.map { String($0.dropFirst("DEVTYPE=".count)) }
}
#endif
