import Headrace

/// Accepts connections on its own thread, and owns the threads of the connections.
final class Acceptor: Sendable {
    /// Lets async code wait until the thread is about to end.
    private final class Completion: Sendable {
        private let state = Locked((isDone: false, waiter: CheckedContinuation<Void, Never>?.none))

        func signal() {
            let waiter = state.withLock { state in
                state.isDone = true
                return state.waiter.take()
            }
            waiter?.resume()
        }

        func wait() async {
            await withCheckedContinuation { continuation in
                let isDone = state.withLock { state in
                    if !state.isDone { state.waiter = continuation }
                    return state.isDone
                }
                if isDone { continuation.resume() }
            }
        }
    }

    private let thread: PosixThread
    private let stopGate: Gate
    private let completion: Completion

    /// Starts to accept connections.
    ///
    /// `open` registers a connection and returns its number, or `nil` to refuse it. `serve` serves and closes it on a
    /// new thread. `close` closes a connection for which no thread could be started.
    init(
        _ listener: Listener,
        open: @escaping @Sendable (Socket) -> Int?,
        serve: @escaping @Sendable (Socket, Int) -> Void,
        close: @escaping @Sendable (Int) -> Void
    ) throws {
        let stopGate = try Gate()
        let completion = Completion()
        self.stopGate = stopGate
        self.completion = completion
        thread = try PosixThread {
            Acceptor.run(listener, until: stopGate) { socket, finished in
                guard let number = open(socket) else {
                    socket.close()
                    return nil
                }
                do {
                    let thread = try PosixThread {
                        serve(socket, number)
                        finished.add(number)
                    }
                    return (number, thread)
                } catch {
                    close(number)
                    return nil
                }
            }
            completion.signal()
        }
    }

    /// Returns once all threads have ended; the connections' sockets must have been shut down.
    func stop() async {
        stopGate.open()
        await completion.wait()
        thread.join()
    }

    private static func run(
        _ listener: Listener,
        until stopGate: Gate,
        start: (Socket, FinishedThreads) -> (number: Int, thread: PosixThread)?
    ) {
        let finished = FinishedThreads()
        var threads: [Int: PosixThread] = [:]
        accepting: while true {
            let arrival = listener.accept(until: stopGate)
            for number in finished.take() { threads.removeValue(forKey: number)?.join() }
            switch arrival {
            case .connection(let socket):
                if let started = start(socket, finished) { threads[started.number] = started.thread }
            case .interruption:
                continue
            case .stopped:
                break accepting
            }
        }
        for thread in threads.values { thread.join() }
    }
}

/// The numbers of connections whose threads are about to end and only need to be joined.
private final class FinishedThreads: Sendable {
    private let numbers = Locked<[Int]>([])

    func add(_ number: Int) {
        numbers.withLock { $0.append(number) }
    }

    func take() -> [Int] {
        numbers.withLock { numbers in
            defer { numbers = [] }
            return numbers
        }
    }
}
