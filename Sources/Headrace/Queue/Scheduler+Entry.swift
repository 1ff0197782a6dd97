/// The scheduler's state for each download and each host.
extension Scheduler {
    /// The reason for stopping a running download; decides its phase once its transfer has stopped.
    ///
    /// Later cases outrank earlier cases, but `requeue` and `pause` replace each other.
    enum Intent: Comparable {
        case requeue
        case pause
        case interrupt
        case cancel
        case remove(deletingFile: Bool)

        private var rank: Int {
            switch self {
            // These replace each other: a user may pause and resume repeatedly.
            case .requeue, .pause: 0
            case .interrupt: 1
            case .cancel: 2
            case .remove: 3
            }
        }

        static func < (lhs: Intent, rhs: Intent) -> Bool { lhs.rank < rhs.rank }
    }

    struct Entry {
        var priority: Int
        /// A number that increases with each change of phase and each insertion into a heap.
        ///
        /// Heap elements with a lower number are stale.
        var generation: UInt64 = 0
        var host: Hosts.Number
        var phase = Phase.waiting
        var intent: Intent?
        var need: NetworkRequirement
        /// Whether the download may start: with a journal, not before the journal has it.
        var isSaved: Bool

        mutating func enter(_ phase: Phase, generation: UInt64) {
            (self.phase, self.generation) = (phase, generation)
        }
    }

    /// A waiting download as a heap element; stale once the generation of the download's ``Entry`` is higher.
    struct Candidate: Comparable {
        var priority: Int
        var label: QueueOrder.Label
        var id: ID
        var generation: UInt64
        var host: Hosts.Number

        init(_ id: ID, _ entry: Entry, label: QueueOrder.Label) {
            (priority, self.label, self.id) = (entry.priority, label, id)
            (generation, host) = (entry.generation, entry.host)
        }

        static func < (lhs: Candidate, rhs: Candidate) -> Bool {
            lhs.priority != rhs.priority ? lhs.priority > rhs.priority : lhs.label < rhs.label
        }
    }

    struct Delayed: Comparable {
        var time: Duration
        var id: ID
        var generation: UInt64

        static func < (lhs: Delayed, rhs: Delayed) -> Bool { lhs.time < rhs.time }
    }

    /// The hosts of the downloads in the queue, each with its number of running downloads.
    struct Hosts: Sendable {
        /// A compact host identifier; reused for another host once this host has no download in the queue.
        typealias Number = Int32

        private struct Host {
            var name: String
            /// The number of downloads from the host in the queue.
            var count = 0
            var running = 0
        }

        private var numbers: [String: Number] = [:]
        private var hosts: [Host] = []
        /// Host numbers that can be reused.
        private var free: [Number] = []

        var count: Int { numbers.count }

        func name(_ number: Number) -> String { hosts[Int(number)].name }

        /// Counts a download that was added to the queue; returns the identifier of its host.
        mutating func added(_ name: String) -> Number {
            let number = numbers[name] ?? newNumber(of: name)
            hosts[Int(number)].count += 1
            return number
        }

        private mutating func newNumber(of name: String) -> Number {
            let number: Number
            if let last = free.popLast() {
                number = last
                hosts[Int(last)] = Host(name: name)
            } else {
                number = Number(hosts.count)
                hosts.append(Host(name: name))
            }
            numbers[name] = number
            return number
        }

        /// Counts a download that left the queue; returns `true` if it was the host's last one.
        mutating func removed(_ number: Number) -> Bool {
            hosts[Int(number)].count -= 1
            guard hosts[Int(number)].count == 0 else { return false }
            numbers[hosts[Int(number)].name] = nil
            free.append(number)
            return true
        }

        /// The number of running downloads of a host.
        subscript(host: Number) -> Int {
            get { hosts[Int(host)].running }
            set { hosts[Int(host)].running = newValue }
        }
    }
}
