/// What the queue keeps of each host.
extension DownloadQueue {
    /// How many downloads run from each host, and how many it takes where it has refused one.
    ///
    /// A host that refuses a download while others of it run has as many as it takes. It is tried with one more a second later,
    /// and after twice as long each time that this is refused as well.
    struct Hosts: Sendable {
        /// A host in few bytes.
        typealias Number = Int32

        private struct Lowered {
            var limit: Int
            /// When it was last changed.
            var changed: Duration
            /// How long it stays before it is tried with one more.
            var interval = Hosts.firstInterval
            /// Whether the last change was one more.
            var isTried = false
        }

        private static let firstInterval = Duration.seconds(1)
        private static let lastInterval = Duration.seconds(60)

        private var numbers: [String: Number] = [:]
        private var running: [Int] = []
        private var lowered: [Number: Lowered] = [:]

        /// The number of a host, a new one where it is not known.
        mutating func number(of host: String) -> Number {
            if let number = numbers[host] { return number }
            let number = Number(running.count)
            numbers[host] = number
            running.append(0)
            return number
        }

        /// The downloads that run from a host.
        subscript(host: Number) -> Int {
            get { running[Int(host)] }
            set { running[Int(host)] = newValue }
        }

        /// How many downloads a host takes, as far as that is known.
        func limit(of host: Number) -> Int { lowered[host]?.limit ?? .max }

        /// A host has refused a download that is not among the running any more.
        mutating func refused(_ host: Number, at now: Duration) {
            var state = lowered[host] ?? Lowered(limit: .max, changed: now)
            if state.isTried { state.interval = min(state.interval * 2, Self.lastInterval) }
            (state.isTried, state.changed) = (false, now)
            state.limit = max(1, min(state.limit, self[host]))
            lowered[host] = state
        }

        /// Lets hosts have one more whose time has come, up to a number; returns these.
        mutating func raise(upTo most: Int, at now: Duration) -> [Number] {
            guard !lowered.isEmpty else { return [] }
            let due = lowered.filter { $1.limit < most && now - $1.changed >= $1.interval }.keys.sorted()
            for host in due {
                lowered[host]?.limit += 1
                lowered[host]?.changed = now
                lowered[host]?.isTried = true
            }
            return due
        }

        /// When the first of some hosts may have one more, up to a number.
        func nextRaise(of hosts: some Sequence<Number>, upTo most: Int) -> Duration? {
            guard !lowered.isEmpty else { return nil }
            return hosts.compactMap { lowered[$0] }.filter { $0.limit < most }.map { $0.changed + $0.interval }.min()
        }
    }
}
