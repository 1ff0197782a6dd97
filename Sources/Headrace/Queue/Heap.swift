/// A binary heap: reads the minimum in constant time; inserts and removes elements in logarithmic time.
struct Heap<Element: Comparable & Sendable>: Sendable {
    private var elements: [Element] = []

    var count: Int { elements.count }
    var min: Element? { elements.first }

    mutating func insert(_ element: Element) {
        elements.append(element)
        var child = elements.count - 1
        while child > 0, case let parent = (child - 1) / 2, elements[child] < elements[parent] {
            elements.swapAt(child, parent)
            child = parent
        }
    }

    /// Removes all elements for which `isKept` returns `false`.
    mutating func filter(_ isKept: (Element) -> Bool) {
        // A sorted array is a valid heap.
        elements = elements.filter(isKept).sorted()
    }

    mutating func popMin() -> Element? {
        guard let last = elements.indices.last else { return nil }
        elements.swapAt(0, last)
        let least = elements.removeLast()
        var parent = 0
        while true {
            var child = 2 * parent + 1
            if child + 1 < elements.count, elements[child + 1] < elements[child] { child += 1 }
            guard child < elements.count, elements[child] < elements[parent] else { return least }
            elements.swapAt(child, parent)
            parent = child
        }
    }
}
