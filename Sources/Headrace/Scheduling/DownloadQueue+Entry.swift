/// What the queue keeps of each download and each host.
extension DownloadQueue {
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
        var need: NetworkNeed
    }

    /// A waiting download as the heaps hold it; of no meaning once its generation is over.
    struct Candidate: Comparable {
        var priority: Int
        var label: ListOrder.Label
        var id: ID
        var generation: UInt64
        var host: Hosts.Number

        init(_ id: ID, _ entry: Entry, label: ListOrder.Label) {
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

    /// How many downloads run from each host.
    struct Hosts: Sendable {
        /// A host in few bytes.
        typealias Number = Int32

        private var numbers: [String: Number] = [:]
        private var running: [Int] = []

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
    }
}
