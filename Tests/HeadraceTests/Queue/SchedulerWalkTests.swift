import HeadraceTestSupport
import Testing

@testable import Headrace

/// Random verbs on fifty downloads, checked against the scheduler's actions and an array with the expected order.
@Suite(.timeLimit(.minutes(4)), .computing)
struct SchedulerWalkTests {
    private struct Walk {
        var random: SeededRandom
        var queue: Scheduler
        var order: [Download.ID] = []
        var phases: [Download.ID: Scheduler.Phase] = [:]
        var hosts: [Download.ID: String] = [:]
        /// The hosts of the new URLs of running downloads, which count from their next start.
        var nextHosts: [Download.ID: String] = [:]
        var notBefore: [Download.ID: Duration] = [:]
        var needs: [Download.ID: NetworkRequirement] = [:]
        var gate = NetworkAdmission()
        /// The running downloads that were stopped but have not ended yet.
        var stopping: Set<Download.ID> = []
        var now = Duration.zero
        var problems: [String] = []

        init(seed: UInt64) {
            random = SeededRandom(seed: seed)
            queue = Scheduler(limit: 3, hostLimit: 2)
        }

        var running: [Download.ID] { phases.filter { $0.value == .running }.map(\.key) }

        mutating func check(_ condition: Bool, _ problem: String) {
            if !condition, problems.count < 10 { problems.append(problem) }
        }

        mutating func note(_ actions: [Scheduler.Action]) {
            for action in actions {
                switch action {
                case .start(let id):
                    check(phases[id] == .waiting, "\(id) started and did not wait")
                    check(running.count < queue.limits.total, "\(id) started over the limit")
                    let ofHost = running.filter { hosts[$0] == hosts[id] }.count
                    check(ofHost < queue.limits.perHost ?? .max, "\(id) started over the limit of its host")
                    check(notBefore[id] ?? .zero <= now, "\(id) started before its time")
                    check(blocker(of: id) == nil, "\(id) started on a network that it may not use")
                    phases[id] = .running
                case .stop(let id, _):
                    check(phases[id] == .running, "\(id) was stopped and did not run")
                    stopping.insert(id)
                case .hold(let id, let blocker):
                    check(phases[id] == .waiting, "\(id) is held and does not wait")
                    check(self.blocker(of: id) == blocker, "\(id) is held by \(blocker)")
                case .enter(let id, let phase, let discardingBytes):
                    check(!discardingBytes || phase == .cancelled, "the bytes of \(id) were discarded")
                    check(phase != .running && phases[id] != nil && phases[id] != phase, "\(id) entered \(phase)")
                    phases[id] = phase
                    notBefore[id] = nil
                case .remove(let id, _):
                    check(phases.removeValue(forKey: id) != nil, "\(id) was removed and not there")
                    order.removeAll { $0 == id }
                }
            }
        }

        func blocker(of id: Download.ID) -> NetworkBlocker? { gate.blocker(for: needs[id] ?? NetworkRequirement()) }

        private mutating func changePath() {
            let paths: [NetworkPath?] = [
                NetworkPath(isUp: false), NetworkPath(isUp: true, localEndpoints: ["a"]), nil,
                NetworkPath(isUp: true, interface: .cellular, isExpensive: true, localEndpoints: ["b"]),
            ]
            let path = paths.randomElement(using: &random) ?? nil
            _ = gate.update(path)
            note(queue.setPath(path))
            let barred = running.filter { blocker(of: $0) != nil && !stopping.contains($0) }
            check(barred.isEmpty, "\(barred) run on a network that they may not use")
        }

        private mutating func relink(_ id: Download.ID) {
            guard let phase = phases[id], let need = needs[id] else { return }
            let host = ["x", "y", "z"].randomElement(using: &random) ?? "x"
            if phase == .running { nextHosts[id] = host } else { hosts[id] = host }
            note(queue.relink(id, to: host, need, at: now))
        }

        mutating func step() {
            let id = Download.ID(rawValue: .random(in: 1...50, using: &random))
            switch Int.random(in: 0..<18, using: &random) {
            case 0, 1:
                var item = Scheduler.Item(id: id, host: ["x", "y", "z"].randomElement(using: &random) ?? "x")
                item.priority = Int.random(in: -1...1, using: &random)
                if Int.random(in: 0..<8, using: &random) == 0 { item.phase = .paused }
                if Int.random(in: 0..<8, using: &random) == 0 { item.notBefore = now + .seconds(3) }
                item.need.policy = [.any, .any, .notExpensive, .wifiOrWired].randomElement(using: &random) ?? .any
                item.need.isLoopback = Int.random(in: 0..<8, using: &random) == 0
                if phases[id] == nil {
                    needs[id] = item.need
                    order.append(id)
                    phases[id] = item.phase
                    hosts[id] = item.host
                    notBefore[id] = item.notBefore
                }
                note(queue.add([item], at: now))
            case 2: note(queue.pause(id))
            case 3, 4:
                if phases[id] == .waiting { notBefore[id] = nil }
                note(queue.resume(id, at: now))
            case 5: note(queue.cancel(id))
            case 6: note(queue.remove(id, deletingFile: Bool.random(using: &random)))
            case 7: note(queue.restart(id, at: now))
            case 8:
                queue.setPriority(Int.random(in: -1...1, using: &random), of: id, at: now)
            case 9:
                let other = Download.ID(rawValue: .random(in: 1...50, using: &random))
                let before = Bool.random(using: &random)
                queue.move(id, to: before ? .before(other) : .after(other), at: now)
                guard phases[id] != nil else { break }
                order.removeAll { $0 == id }
                let index = order.firstIndex(of: other).map { before ? $0 : $0 + 1 }
                order.insert(id, at: index ?? order.count)
            case 10: note(queue.preempt(for: id))
            case 11:
                if Int.random(in: 0..<20, using: &random) == 0 {
                    note(queue.setLimit(Int.random(in: 1...6, using: &random)))
                    note(queue.setHostLimit(Bool.random(using: &random) ? nil : .random(in: 1...4, using: &random)))
                }
            case 12:
                now += .seconds(1)
                note(queue.tick(at: now))
            case 13: if Int.random(in: 0..<4, using: &random) == 0 { changePath() }
            case 14: relink(id)
            default:
                let candidates = running.sorted { $0.rawValue < $1.rawValue }
                guard let id = candidates.randomElement(using: &random) else { break }
                let wasStopping = stopping.remove(id) != nil
                let outcomes: [Scheduler.Outcome] =
                    wasStopping
                    ? [.stopped(keptBytes: true), .stopped(keptBytes: false), .finished, .failed, .retry(at: now)]
                    : [.finished, .failed, .retry(at: now + .seconds(2))]
                let outcome = outcomes.randomElement(using: &random) ?? .finished
                if let host = nextHosts.removeValue(forKey: id) { hosts[id] = host }
                let actions = queue.ended(id, outcome, at: now)
                note(actions)
                if case .retry(let time) = outcome, phases[id] == .waiting { notBefore[id] = time }
                check(phases[id] != .running || actions.contains(.start(id)), "\(id) ended and runs")
            }
        }

        mutating func checkAll() {
            check(queue.ids == order, "the order is not the user's")
            check(Set(running) == Set(queue.startNumbers.keys), "others run than those that were started")
            for id in order { check(queue.phase(of: id) == phases[id], "the phase of \(id)") }
            check(running.filter { !stopping.contains($0) }.count <= queue.limits.total, "too many run")
            check(queue.isIdle == !phases.values.contains { $0 == .waiting || $0 == .running }, "idle or not")
            for id in order {
                let held = queue.networkBlocker(of: id)
                check(held == nil || phases[id] == .waiting && held == blocker(of: id), "\(id) is held by nothing")
            }
            guard running.count < queue.limits.total else { return }
            let eligible = order.filter { id in
                phases[id] == .waiting && notBefore[id] ?? .zero <= now && blocker(of: id) == nil
                    && running.filter { hosts[$0] == hosts[id] }.count < queue.limits.perHost ?? .max
            }
            check(eligible.isEmpty, "\(eligible) could run, and a place is free")
        }
    }

    @Test(arguments: 0..<4)
    func `limits and order hold, no download is lost, and no slot stays free while one could run`(_ seed: UInt64) {
        var walk = Walk(seed: seed)
        for step in 0..<4_000 where walk.problems.isEmpty {
            walk.step()
            if !walk.problems.isEmpty { walk.problems.append("at step \(step)") }
            walk.checkAll()
        }
        #expect(walk.problems == [])
    }

    @Test func `stale candidates do not accumulate`() {
        var queue = Scheduler(limit: 1)
        let ids = (1...3).map { Download.ID(rawValue: $0) }
        _ = queue.add(ids.map { Scheduler.Item(id: $0, host: "h") }, at: .zero)
        for priority in 0..<5_000 { queue.setPriority(priority, of: ids[2], at: .zero) }
        #expect(queue.waiting.count < 2_000)
        #expect(queue.ended(ids[0], .finished, at: .zero).last == .start(ids[2]))
    }
}
