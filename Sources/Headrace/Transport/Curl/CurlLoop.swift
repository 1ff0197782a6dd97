#if os(Linux)
import CHeadrace
import Synchronization
import HeadracePlatform

/// The thread that owns libcurl's handles, and its command queue.
///
/// libcurl is only used on this thread: other threads append a command and wake the poller.
final class CurlLoop: Sendable {
    enum Command: Sendable {
        case start(CurlDriver.TransferID, TransportRequest, ResponseStream)
        case resume(CurlDriver.TransferID)
        case cancel(CurlDriver.TransferID)
        case suspect(TransportRequest)
        case dropIdleConnections
    }

    private struct Shared {
        var commands: [Command] = []
        var isStopping = false
        /// Whether the thread waits for events, or is about to, so that a new command must wake it.
        var isWaiting = false
    }

    /// The state that the network thread shares with its clients.
    ///
    /// It is separate from ``CurlLoop``, so that the thread does not keep the loop alive.
    private final class Mailbox: Sendable {
        let poller: hr_poller
        let shared = Locked(Shared())

        init(_ poller: hr_poller) {
            self.poller = poller
        }

        deinit {
            withUnsafePointer(to: poller) { hr_poller_close(UnsafeMutablePointer(mutating: $0)) }
        }

        /// Appends a command; returns `false` if the thread is stopping and will not perform it.
        @discardableResult
        func post(_ command: Command) -> Bool {
            let (isTaken, wakes) = shared.withLock { shared in
                guard !shared.isStopping else { return (false, false) }
                shared.commands.append(command)
                defer { shared.isWaiting = false }
                return (true, shared.isWaiting)
            }
            if wakes { wake() }
            return isTaken
        }

        func stop() {
            shared.withLock { $0.isStopping = true }
            wake()
        }

        /// Prepares a wait, so that the next command wakes the thread.
        ///
        /// Returns `false` if the thread must not wait, because a command is pending or the thread must stop.
        func beginWaiting() -> Bool {
            shared.withLock { shared in
                shared.isWaiting = shared.commands.isEmpty && !shared.isStopping
                return shared.isWaiting
            }
        }

        private func wake() {
            withUnsafePointer(to: poller) { hr_poller_wake($0) }
        }
    }

    private let mailbox: Mailbox
    private let thread: WorkerThread
    private let lastID = Atomic<CurlDriver.TransferID>(0)

    init(_ configuration: DownloadConfiguration) throws(DownloadError) {
        do throws(SystemError) {
            var poller = hr_poller()
            let failure = hr_poller_open(&poller)
            guard failure == 0 else { throw SystemError(errno: failure) }
            let mailbox = Mailbox(poller)
            self.mailbox = mailbox
            // Newer libcurl releases open descriptors in this call, and can fail for lack of them.
            guard let multi = hr_multi_init() else { throw SystemError(errno: errno == 0 ? ENOMEM : errno) }
            // From here on, only the network thread uses the handle.
            nonisolated(unsafe) let handle = multi
            do throws(SystemError) {
                thread = try WorkerThread(name: "headrace-net") { Self.run(mailbox, handle, configuration) }
            } catch {
                _ = hr_multi_cleanup(multi)
                throw error
            }
        } catch {
            guard !error.isOutOfDescriptors else {
                throw DownloadError.storage("The network thread could not be started", error)
            }
            throw DownloadError(.transportUnavailable, "The network thread could not be started: \(error).")
        }
    }

    deinit {
        mailbox.stop()
    }

    func start(_ request: TransportRequest, _ stream: ResponseStream) {
        let mailbox = mailbox
        let id = lastID.add(1, ordering: .relaxed).newValue
        guard mailbox.post(.start(id, request, stream)) else { return stream.fail(.shutDown()) }
        stream.connect(
            ResponseStream.Producer(
                resume: { mailbox.post(.resume(id)) },
                cancel: { mailbox.post(.cancel(id)) }
            )
        )
    }

    func suspectConnections(of request: TransportRequest) {
        mailbox.post(.suspect(request))
    }

    func dropIdleConnections() {
        mailbox.post(.dropIdleConnections)
    }

    func shutdown() async {
        mailbox.stop()
        await thread.join()
    }

    private static func run(_ mailbox: Mailbox, _ multi: hr_multi, _ configuration: DownloadConfiguration) {
        hr_block_sigpipe()
        let driver = CurlDriver(mailbox.poller, multi, configuration)
        var commands: [Command] = []
        while true {
            let isStopping = take(&commands, from: mailbox)
            for command in commands { driver.perform(command) }
            commands.removeAll(keepingCapacity: true)
            if isStopping { break }
            driver.step { mailbox.beginWaiting() }
        }
        driver.close()
    }

    /// Moves the pending commands to the empty array `commands`; returns whether the thread must stop.
    ///
    /// If so, these are the last commands: ``Mailbox/post(_:)`` accepts none once the thread must stop.
    ///
    /// Swapping the arrays avoids allocating memory under the lock.
    private static func take(_ commands: inout [Command], from mailbox: Mailbox) -> Bool {
        mailbox.shared.withLock { shared in
            shared.isWaiting = false
            swap(&commands, &shared.commands)
            return shared.isStopping
        }
    }
}
#endif
