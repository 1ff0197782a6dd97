import Dispatch
import HeadracePlatform

#if os(Linux)
import CHeadrace
#endif

/// Tells when a file gets a name in a folder.
///
/// What another machine does to a folder that is shared may be missed, so that whoever waits looks now and then as well.
final class FolderWatch: Sendable {
    private struct State {
        var hasChanged = false
        var waiting: Latch?
    }

    /// What the system's thread works with; it must not keep the watch alive.
    private final class Core: Sendable {
        let state = Locked(State())

        func note() {
            let waiting = state.withLock { state in
                state.hasChanged = true
                return state.waiting.take()
            }
            waiting?.open()
        }
    }

    private let core = Core()
    // Dispatch's objects may be used on any thread, which their type does not say; this one is only cancelled.
    nonisolated(unsafe) private let source: any DispatchSourceProtocol

    /// Begins to watch; nil where the system does not tell.
    init?(_ path: String) {
        let queue = DispatchQueue(label: "headrace-folder")
        #if os(Linux)
        let file = hr_watch_folder(path)
        guard file >= 0 else { return nil }
        let source = DispatchSource.makeReadSource(fileDescriptor: file, queue: queue)
        source.setEventHandler { [core] in
            // What it was is seen in the folder.
            var messages = [UInt8](repeating: 0, count: 4096)
            while read(file, &messages, messages.count) > 0 {}
            core.note()
        }
        #else
        let file = open(path, O_EVTONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        let events: DispatchSource.FileSystemEvent = [.write, .delete, .rename]
        let source = DispatchSource.makeFileSystemObjectSource(fileDescriptor: file, eventMask: events, queue: queue)
        source.setEventHandler { [core] in core.note() }
        #endif
        source.setCancelHandler { close(file) }
        source.activate()
        self.source = source
    }

    deinit {
        source.cancel()
    }

    /// Returns when something has changed since the last time that it returned, or when the task is cancelled; for one caller.
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
