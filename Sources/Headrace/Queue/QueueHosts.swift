/// The hosts of the downloads in a queue, each with its number of running downloads.
struct QueueHosts: Sendable {
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
