/// Follows the path of this machine to others, as it comes, goes and changes.
///
///     for await path in NetworkMonitor().paths { print(path?.isUp ?? true) }
///
/// On Linux the kernel tells of links, addresses and routes (`rtnetlink`), on Apple's platforms `NWPathMonitor` does. On Linux
/// a path is up where a running interface has a default route; where none has, where one other than a bridge has an address
/// that is not link-local.
public final class NetworkMonitor: Sendable {
    /// What the watch writes and others read; apart, so that the watch does not keep the monitor.
    private final class Cell: Sendable {
        struct State {
            var path: NetworkPath?
            var followers = Subscribers<NetworkPath?>()
        }

        let state: Locked<State>

        init(_ path: NetworkPath?) {
            state = Locked(State(path: path))
        }

        func update(_ path: NetworkPath?) {
            // Under the lock, so that paths are told in their order.
            state.withLock { state in
                guard path != state.path else { return }
                state.path = path
                state.followers.yield(path)
            }
        }
    }

    private let cell: Cell
    private let watch: NetworkPathObserver?

    /// Begins to follow the path; where the system does not tell of it, the path stays nil.
    public init() {
        let cell = Cell(nil)
        self.cell = cell
        watch = NetworkPathObserver { cell.update($0) }
    }

    /// Creates a monitor of a path that nobody but the caller changes.
    /// - Parameter path: The path; nil for one that is not known.
    init(fixed path: NetworkPath?) {
        cell = Cell(path)
        watch = nil
    }

    /// The path now; nil where it is not known, at the start or for good.
    public var path: NetworkPath? {
        watch?.refresh()
        return cell.state.withLock { $0.path }
    }

    /// The path from now on: each access is a stream of its own, which begins with the current value.
    ///
    /// A slow reader misses paths in between, never the last one. The stream ends when the task that reads it is cancelled.
    public var paths: AsyncStream<NetworkPath?> { follow().paths }

    /// Follows the path until the continuation is finished.
    func follow() -> (paths: AsyncStream<NetworkPath?>, end: AsyncStream<NetworkPath?>.Continuation) {
        let (paths, continuation) = AsyncStream.makeStream(of: NetworkPath?.self, bufferingPolicy: .bufferingNewest(1))
        let follower = cell.state.withLock { state in
            continuation.yield(state.path)
            return state.followers.add(continuation)
        }
        // Whoever follows keeps the monitor.
        continuation.onTermination = { _ in self.cell.state.withLock { $0.followers.remove(follower) } }
        return (paths, continuation)
    }

    /// Ends the watch, for the last who has the monitor; returns when nothing is left of it.
    package func close() async {
        await watch?.end()
    }

    /// Changes the path of a monitor that was made with a fixed one.
    /// - Parameter path: The new path.
    func update(_ path: NetworkPath?) {
        cell.update(path)
    }
}
