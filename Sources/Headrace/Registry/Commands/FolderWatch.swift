import Dispatch
import HeadracePlatform

#if os(Linux)
import CHeadrace
#endif

/// Notifies a waiting task of changes in a folder.
///
/// Changes that another machine makes in a shared folder may be missed, so callers should also poll.
final class FolderWatch: Sendable {
    private struct State {
        var hasChanged = false
        var waiting: Latch?
    }

    /// The state of the watch; a separate object, so that the event handler does not retain the watch.
    private final class Core: Sendable {
        let state = Locked(State())

        func recordChange() {
            let waiting = state.withLock { state in
                state.hasChanged = true
                return state.waiting.take()
            }
            waiting?.open()
        }
    }

    private let core = Core()
    // Dispatch objects are thread-safe, although not declared `Sendable`; this one is only cancelled.
    nonisolated(unsafe) private let source: any DispatchSourceProtocol

    /// Starts to watch a folder; returns `nil` if the folder cannot be opened, or the system cannot watch it.
    init?(_ path: String) {
        let queue = DispatchQueue(label: "headrace-folder")
        #if os(Linux)
        let file = hr_watch_folder(path)
        guard file >= 0 else { return nil }
        let source = DispatchSource.makeReadSource(fileDescriptor: file, queue: queue)
        source.setEventHandler { [core] in
            // The events are discarded: the folder itself shows what changed.
            var messages = [UInt8](repeating: 0, count: 4096)
            while read(file, &messages, messages.count) > 0 {}
            core.recordChange()
        }
        #else
        let file = open(path, O_EVTONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        let events: DispatchSource.FileSystemEvent = [.write, .delete, .rename]
        let source = DispatchSource.makeFileSystemObjectSource(fileDescriptor: file, eventMask: events, queue: queue)
        source.setEventHandler { [core] in core.recordChange() }
        #endif
        source.setCancelHandler { close(file) }
        source.activate()
        self.source = source
    }

    deinit {
        source.cancel()
    }

    /// Waits until the folder changes or the task is cancelled; only one task may wait at a time.
    ///
    /// Returns at once if the folder has changed since the previous call returned or, the first time, since the watch
    /// began.
    func change() async {
        let change = Latch()
        let hasChanged = core.state.withLock { state in
            if !state.hasChanged { state.waiting = change }
            return state.hasChanged
        }
        if !hasChanged { await change.wait(evenIfCancelled: false) }
        core.state.withLock { $0 = State() }
    }
}
