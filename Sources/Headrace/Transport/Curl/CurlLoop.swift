#if os(Linux)
import CHeadrace

/// The thread that owns libcurl's handles, and the queue of commands to it.
///
/// Nothing of libcurl is touched from elsewhere: other threads append a command and wake the poller.
final class CurlLoop: Sendable {
    enum Command: Sendable {
        case start(CurlDriver.TransferID, TransportRequest, ResponseStream)
        case resume(CurlDriver.TransferID)
        case cancel(CurlDriver.TransferID)
    }

    /// What all transfers together may hold in memory between the network and the disk.
    private static let memoryBudget = 32 << 20

    private struct Shared {
        var commands: [Command] = []
        var isStopping = false
        var lastID: CurlDriver.TransferID = 0
        var activeTransfers = 0
    }

    /// What the thread and its clients share; the thread must not keep the loop itself alive.
    private final class Mailbox: Sendable {
        let poller: hr_poller
        let shared = Locked(Shared())

        init(_ poller: hr_poller) {
            self.poller = poller
        }

        deinit {
            withUnsafePointer(to: poller) { hr_poller_close(UnsafeMutablePointer(mutating: $0)) }
        }

        /// Returns false once the thread is stopping, and nobody would perform the command.
        @discardableResult
        func post(_ command: Command) -> Bool {
            let (isTaken, wakes) = shared.withLock { shared in
                guard !shared.isStopping else { return (false, false) }
                shared.commands.append(command)
                return (true, shared.commands.count == 1)
            }
            if wakes { wake() }
            return isTaken
        }

        func stop() {
            shared.withLock { $0.isStopping = true }
            wake()
        }

        private func wake() {
            withUnsafePointer(to: poller) { hr_poller_wake($0) }
        }
    }

    private let mailbox: Mailbox
    private let thread: WorkerThread

    init(_ options: CurlOptions) throws(DownloadError) {
        do throws(SystemError) {
            var poller = hr_poller()
            let failure = hr_poller_open(&poller)
            guard failure == 0 else { throw SystemError(errno: failure) }
            let mailbox = Mailbox(poller)
            self.mailbox = mailbox
            thread = try WorkerThread(name: "headrace-net") { Self.run(mailbox, options) }
        } catch {
            throw DownloadError(.transportUnavailable, "The network thread could not be started: \(error).")
        }
    }

    deinit {
        mailbox.stop()
    }

    /// Counts a transfer in and returns how many bytes of it may wait in memory.
    func admit() -> Int {
        let active = mailbox.shared.withLock { shared in
            shared.activeTransfers += 1
            return shared.activeTransfers
        }
        // Powers of two, so that chunks of one transfer fit the next.
        let share = Self.memoryBudget / active
        return [1 << 20, 512 << 10, 256 << 10, 128 << 10].first { $0 <= share } ?? 64 << 10
    }

    func dismiss() {
        mailbox.shared.withLock { $0.activeTransfers -= 1 }
    }

    func start(_ request: TransportRequest, _ stream: ResponseStream) {
        let mailbox = mailbox
        let id = mailbox.shared.withLock { shared in
            shared.lastID += 1
            return shared.lastID
        }
        guard mailbox.post(.start(id, request, stream)) else { return stream.fail(.shutDown()) }
        stream.connect(
            ResponseStream.Producer(
                resume: { mailbox.post(.resume(id)) },
                cancel: { mailbox.post(.cancel(id)) }
            )
        )
    }

    func shutdown() async {
        mailbox.stop()
        await thread.join()
    }

    private static func run(_ mailbox: Mailbox, _ options: CurlOptions) {
        hr_block_sigpipe()
        guard let driver = CurlDriver(mailbox.poller, options) else {
            return drain(mailbox)
        }
        while true {
            let (commands, isStopping) = take(mailbox)
            for command in commands { driver.perform(command) }
            if isStopping { break }
            driver.step()
        }
        driver.close()
        drain(mailbox)
    }

    private static func take(_ mailbox: Mailbox) -> (commands: [Command], isStopping: Bool) {
        mailbox.shared.withLock { shared in
            defer { shared.commands.removeAll(keepingCapacity: true) }
            return (shared.commands, shared.isStopping)
        }
    }

    /// Answers what was asked too late.
    private static func drain(_ mailbox: Mailbox) {
        let commands = mailbox.shared.withLock { shared in
            shared.isStopping = true
            defer { shared.commands = [] }
            return shared.commands
        }
        for case .start(_, _, let stream) in commands { stream.fail(.shutDown()) }
    }
}
#endif
