import HeadraceTestSupport
import Testing

@testable import Headrace

/// The paths that a monitor publishes, from a test and from the system.
@Suite(.timeLimit(.minutes(4)))
struct NetworkMonitorTests {
    private let up = NetworkPath(isUp: true)
    private let down = NetworkPath(isUp: false, interface: .loopback)

    @Test func `each reader receives the current path first and then the newest`() async {
        let monitor = NetworkMonitor(fixed: up)
        var (first, second) = (monitor.paths.makeAsyncIterator(), monitor.paths.makeAsyncIterator())
        #expect(await first.next() == up)
        monitor.update(nil)
        monitor.update(down)
        #expect(await first.next() == down)
        #expect(await second.next() == down)
        #expect(monitor.path == down)
    }

    @Test func `an unchanged path is not published again`() async {
        let monitor = NetworkMonitor(fixed: up)
        let (paths, end) = monitor.follow()
        var reader = paths.makeAsyncIterator()
        #expect(await reader.next() == up)
        monitor.update(up)
        end.finish()
        #expect(await reader.next() == nil)
    }

    #if os(Linux)
    @Test func `the system reports the path before it is read, or never`() {
        let paths = Locked<[NetworkPath?]>([])
        guard let watch = NetworkPathObserver({ path in paths.withLock { $0.append(path) } }) else { return }
        #expect(paths.withLock { $0.count } == 1)
        watch.refresh()
        // Whatever network this machine has, it is up, or there is only the loopback.
        for case let path? in paths.withLock({ $0 }) {
            #expect(path.isUp ? !path.localEndpoints.isEmpty : path.interface == .loopback)
        }
    }
    #endif
}
