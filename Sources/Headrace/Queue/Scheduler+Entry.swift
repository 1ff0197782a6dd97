/// What the queue keeps of each download and each host.
extension Scheduler {
    /// What was asked of a running download and happens when its transfer has ended; a later one outranks an earlier.
    enum Intent: Comparable {
        case requeue
        case pause
        case interrupt
        case cancel
        case remove(deletingFile: Bool)

        private var rank: Int {
            switch self {
            // A user may go back and forth between these two.
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
        /// What was noted under another number is void.
        var generation: UInt64 = 0
        var host: Hosts.Number
        var phase = Phase.waiting
        var intent: Intent?
        var need: NetworkRequirement

        mutating func enter(_ phase: Phase, generation: UInt64) {
            (self.phase, self.generation) = (phase, generation)
        }
    }

    /// A waiting download as the heaps hold it; of no meaning once its generation is over.
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

    /// How many downloads run from each host, of those of the list.
    struct Hosts: Sendable {
        /// A host in few bytes; another one's when no download of the list is from it any more.
        typealias Number = Int32

        private struct Host {
            var name: String
            /// How many downloads of the list are from it.
            var count = 0
            var running = 0
        }

        private var numbers: [String: Number] = [:]
        private var hosts: [Host] = []
        /// Those that are no host's.
        private var free: [Number] = []

        var count: Int { numbers.count }

        /// The number of the host of a download that comes into the list.
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

        /// Takes note that a download has left the list; true where it was the last one of its host.
        mutating func removed(_ number: Number) -> Bool {
            hosts[Int(number)].count -= 1
            guard hosts[Int(number)].count == 0 else { return false }
            numbers[hosts[Int(number)].name] = nil
            free.append(number)
            return true
        }

        /// The downloads that run from a host.
        subscript(host: Number) -> Int {
            get { hosts[Int(host)].running }
            set { hosts[Int(host)].running = newValue }
        }
    }
}
