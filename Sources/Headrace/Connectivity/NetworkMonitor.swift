/// Observes the network path of this machine.
///
///     for await path in NetworkMonitor().paths { print(path?.isUp ?? true) }
///
/// On Apple platforms, `NWPathMonitor` reports paths. On Linux, the kernel reports links, addresses and routes
/// (`rtnetlink`). The path is up if a running interface has a default route. If none has one, the path is up if a
/// running interface, other than loopback or a bridge, has an address that is not link-local.
public final class NetworkMonitor: Sendable {
    /// The monitor's state; the observer references it instead of the monitor, so that the monitor can be released.
    private final class Cell: Sendable {
        struct State {
            var path: NetworkPath?
            var followers = Subscribers<NetworkPath?>()
        }

        let state: PublishingLock<State>

        init(_ path: NetworkPath?) {
            state = PublishingLock(State(path: path))
        }

        func update(_ path: NetworkPath?) {
            state.publish { state, outbox in
                guard path != state.path else { return }
                state.path = path
                state.followers.yield(path, with: &outbox)
            }
        }
    }

    private let cell: Cell
    private let observer: NetworkPathObserver?

    /// Starts to observe the network path; ``path`` stays `nil` if the system does not report it.
    public init() {
        let cell = Cell(nil)
        self.cell = cell
        observer = NetworkPathObserver { cell.update($0) }
    }

    /// Creates a monitor whose path changes only when the caller calls ``update(_:)``.
    /// - Parameter path: The path; `nil` if it is unknown.
    package init(fixed path: NetworkPath?) {
        cell = Cell(path)
        observer = nil
    }

    /// The current path; `nil` while it is unknown.
    ///
    /// It is unknown until the system first reports a path, and again if the system stops reporting.
    public var path: NetworkPath? {
        observer?.refresh()
        return cell.state.withLock { $0.path }
    }

    /// A new stream of network paths, which starts with the current one.
    ///
    /// A slow reader misses intermediate paths, but never the last one. The stream ends when the reading task is
    /// cancelled.
    public var paths: AsyncStream<NetworkPath?> { follow().paths }

    /// Returns a stream of paths and its continuation; the caller finishes the continuation to end the stream.
    func follow() -> (paths: AsyncStream<NetworkPath?>, end: AsyncStream<NetworkPath?>.Continuation) {
        let (paths, continuation) = AsyncStream.makeStream(of: NetworkPath?.self, bufferingPolicy: .bufferingNewest(1))
        let follower = cell.state.withLock { state in
            continuation.yield(state.path)
            return state.followers.add(continuation)
        }
        // A follower keeps the monitor alive.
        continuation.onTermination = { _ in self.cell.state.withLock { $0.followers.remove(follower) } }
        return (paths, continuation)
    }

    /// Stops observing the path, for all users of the monitor; returns when the observer's thread has finished.
    package func close() async {
        await observer?.end()
    }

    /// Changes the path of a monitor created with ``init(fixed:)``.
    /// - Parameter path: The new path.
    package func update(_ path: NetworkPath?) {
        cell.update(path)
    }
}
