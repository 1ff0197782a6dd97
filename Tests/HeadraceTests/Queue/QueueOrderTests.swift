import HeadraceTestSupport
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)), .computing)
struct QueueOrderTests {
    private func id(_ number: UInt64) -> Download.ID { Download.ID(rawValue: number) }

    private func list(_ numbers: ClosedRange<UInt64>) -> QueueOrder {
        var order = QueueOrder()
        for number in numbers { _ = order.append(id(number)) }
        return order
    }

    @Test(
        arguments: [
            (QueuePosition.first, [3, 1, 2, 4]), (.last, [1, 2, 4, 3]),
            (.before(Download.ID(rawValue: 2)), [1, 3, 2, 4]),
            (.after(Download.ID(rawValue: 4)), [1, 2, 4, 3]), (.index(0), [3, 1, 2, 4]), (.index(2), [1, 2, 3, 4]),
            (.index(-7), [3, 1, 2, 4]), (.index(99), [1, 2, 4, 3]), (.before(Download.ID(rawValue: 3)), [1, 2, 4, 3]),
            (.after(Download.ID(rawValue: 9)), [1, 2, 4, 3]),
        ] as [(QueuePosition, [UInt64])]
    )
    func `a download can be moved to any position`(_ place: QueuePosition, _ expected: [UInt64]) {
        var order = list(1...4)
        _ = order.insert(id(3), at: place)
        #expect(order.ids.map(\.rawValue) == expected)
    }

    @Test func `more downloads than there are labels fit between two neighbours`() {
        var order = list(1...2)
        var relabelled = 0
        for number in UInt64(3)...200 where order.insert(id(number), at: .after(id(1))) { relabelled += 1 }
        #expect(order.ids.map(\.rawValue) == [1] + Array((3...200).reversed()) + [2])
        #expect((1...10).contains(relabelled))
    }

    @Test(arguments: 0..<5)
    func `a random walk matches an array, and its labels ascend`(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var order = QueueOrder()
        var model: [Download.ID] = []
        for _ in 0..<3_000 {
            let id = id(.random(in: 0..<2_000, using: &random))
            let other = model.randomElement(using: &random) ?? id
            model.removeAll { $0 == id }
            let end = model.count
            switch Int.random(in: 0..<7, using: &random) {
            case 0: order.remove(id)
            case 1:
                _ = order.insert(id, at: .first)
                model.insert(id, at: 0)
            case 2:
                _ = order.insert(id, at: .before(other))
                model.insert(id, at: model.firstIndex(of: other) ?? end)
            case 3:
                _ = order.insert(id, at: .after(other))
                model.insert(id, at: model.firstIndex(of: other).map { $0 + 1 } ?? end)
            case 4:
                let index = Int.random(in: 0...end, using: &random)
                _ = order.insert(id, at: .index(index))
                model.insert(id, at: index)
            default:
                order.remove(id)
                _ = order.append(id)
                model.append(id)
            }
        }
        #expect(order.ids == model)
        let labels = model.compactMap { order.label(of: $0) }
        #expect(labels.count == model.count && zip(labels, labels.dropFirst()).allSatisfy { $0 < $1 })
    }
}
