import Testing

@testable import Headrace

/// Queued downloads while the network is lost, restored and changed: which of them wait, resume, and in which order.
@Suite(.timeLimit(.minutes(4)))
struct QueueNetworkTests {
    private let a = Download.ID(rawValue: 1)
    private let b = Download.ID(rawValue: 2)
    private let c = Download.ID(rawValue: 3)
    private let up = NetworkPath(isUp: true, localEndpoints: ["eth0 192.0.2.2"])
    private let down = NetworkPath(isUp: false, interface: .loopback)
    private let mobile = NetworkPath(
        isUp: true,
        interface: .cellular,
        isExpensive: true,
        localEndpoints: ["wwan0 192.0.2.9"]
    )

    private func item(
        _ id: Download.ID,
        _ need: NetworkRequirement = NetworkRequirement(),
        mayRepeat: Bool = true
    ) -> Scheduler.Item {
        Scheduler.Item(id: id, host: "h", need: need, mayRepeat: mayRepeat)
    }

    /// A queue on a path.
    private func queue(
        limit: Int = 3,
        hostLimit: Int? = nil,
        on path: NetworkPath?,
        _ items: [Scheduler.Item]
    ) -> (Scheduler, [Scheduler.Action]) {
        var queue = Scheduler(limit: limit, hostLimit: hostLimit, gate: NetworkAdmission(path: path))
        let actions = queue.add(items, at: .zero)
        return (queue, actions)
    }

    /// A function, because the macro cannot take a mutating call.
    private func expect(
        _ actions: [Scheduler.Action],
        _ expected: [Scheduler.Action],
        _ location: SourceLocation = #_sourceLocation
    ) {
        #expect(actions == expected, sourceLocation: location)
    }

    @Test func `without a network, downloads due to run wait for it, except those from a loopback host`() {
        var (queue, actions) = queue(on: down, [item(a), item(b, NetworkRequirement(isLoopback: true)), item(c)])
        expect(actions, [.hold(a, .offline), .start(b), .hold(c, .offline)])
        #expect([a, b, c].map { queue.networkBlocker(of: $0) } == [.offline, nil, .offline])
        #expect(!queue.isIdle)
        expect(queue.setPath(down), [])
        expect(queue.setPath(up), [.start(a), .start(c)])
        #expect(queue.networkBlocker(of: a) == nil)
    }

    @Test func `a running download stops when the network goes, waits for it, and resumes in order`() {
        var (queue, _) = queue(limit: 1, on: up, [item(a), item(b)])
        expect(queue.setPath(down), [.stop(a, .networkChanged)])
        // The download is still running, because its bytes are being saved.
        #expect(queue.phase(of: a) == .running)
        expect(
            queue.ended(a, .retry(at: .zero), at: .zero),
            [.enter(a, .waiting), .hold(a, .offline), .hold(b, .offline)]
        )
        expect(queue.setPath(up), [.start(a)])
        #expect(queue.networkBlocker(of: b) == nil)
    }

    @Test func `if the network returns before a download has stopped, it resumes at once`() {
        var (queue, _) = queue(on: up, [item(a)])
        expect(queue.setPath(down), [.stop(a, .networkChanged)])
        expect(queue.setPath(up), [])
        expect(queue.ended(a, .retry(at: .zero), at: .zero), [.enter(a, .waiting), .start(a)])
    }

    @Test func `a changed local address restarts connections, except those to a loopback host`() {
        var (queue, _) = queue(on: up, [item(a), item(b, NetworkRequirement(isLoopback: true))])
        expect(queue.setPath(NetworkPath(isUp: true, localEndpoints: ["eth0 192.0.2.3"])), [.stop(a, .networkChanged)])
        expect(queue.ended(a, .retry(at: .zero), at: .zero), [.enter(a, .waiting), .start(a)])
    }

    @Test func `a request that must not be repeated is stopped only if the network is not allowed`() {
        let need = NetworkRequirement(policy: .notExpensive)
        var (queue, _) = queue(on: up, [item(a, need, mayRepeat: false)])
        expect(queue.setPath(NetworkPath(isUp: true, localEndpoints: ["eth0 192.0.2.3"])), [])
        expect(queue.setPath(down), [])
        expect(queue.setPath(up), [])
        expect(queue.setPath(mobile), [.stop(a, .networkChanged)])
    }

    @Test func `neither a lower limit nor a more urgent download stops a request that must not be repeated`() {
        var (queue, _) = queue(limit: 2, on: up, [item(a), item(b, mayRepeat: false), item(c)])
        queue.setPriority(1, of: c, at: .zero)
        expect(queue.preempt(for: c), [.stop(a, .demoted)])
        expect(queue.ended(a, .stopped(keptBytes: true), at: .zero), [.enter(a, .waiting), .start(c)])
        expect(queue.setLimit(1), [.stop(c, .demoted)])
    }

    @Test func `a lower limit stops an older download if the newest must not be repeated`() {
        var (queue, _) = queue(limit: 2, on: up, [item(a), item(b, mayRepeat: false)])
        expect(queue.setLimit(1), [.stop(a, .demoted)])
    }

    @Test func `a network policy blocks only its own download, and the reason follows the network`() {
        let need = NetworkRequirement(policy: .notExpensive)
        var (queue, _) = queue(limit: 1, on: down, [item(a, need), item(b)])
        expect(queue.setPath(mobile), [.hold(a, .expensive), .start(b)])
        #expect(queue.networkBlocker(of: a) == .expensive)
        expect(queue.ended(b, .finished, at: .zero), [.enter(b, .finished)])
        expect(queue.setPath(NetworkPath(isUp: true, interface: .wifi)), [.start(a)])
    }

    @Test func `if the network path is unknown, all downloads run`() {
        var (queue, actions) = queue(on: down, [item(a)])
        expect(actions, [.hold(a, .offline)])
        expect(queue.setPath(nil), [.start(a)])
    }

    @Test func `user commands work on a download that waits for the network`() {
        var (queue, _) = queue(on: down, [item(a), item(b), item(c)])
        expect(queue.preempt(for: a), [])
        expect(queue.resume(a, at: .zero), [])
        expect(queue.pause(a), [.enter(a, .paused)])
        #expect(queue.networkBlocker(of: a) == nil)
        expect(queue.cancel(b), [.enter(b, .cancelled, discardingBytes: true)])
        expect(queue.remove(c, deletingFile: false), [.remove(c, deletingFile: false)])
        #expect(queue.networkBlocker(of: c) == nil)
        expect(queue.setPath(up), [])
        expect(queue.resume(a, at: .zero), [.enter(a, .waiting), .start(a)])
    }

    @Test func `a download waiting for its host is not blocked by another one waiting for the network`() {
        let need = NetworkRequirement(policy: .wifiOrWired)
        var (queue, actions) = queue(hostLimit: 1, on: mobile, [item(a), item(b, need), item(c)])
        expect(actions, [.start(a), .hold(b, .neitherWiFiNorWired)])
        expect(queue.ended(a, .finished, at: .zero), [.enter(a, .finished), .start(c)])
    }
}
