/// The values of a changing property: the current value at once, then the latest value after changes, at most ten times
/// a second.
///
/// A value is computed only when the reader requests it, so a slow reader causes no work and misses only outdated
/// values.
struct ThrottledValues<Element: Sendable>: AsyncSequence, Sendable {
    static var interval: Duration { .milliseconds(100) }

    /// Yields an element at first and after changes; the sequence finishes with this stream.
    let changes: AsyncStream<Void>
    let clock: AnyClock
    /// Returns the current value and whether it is the last one; `nil` finishes the sequence.
    let sample: @Sendable () async -> (value: Element, isLast: Bool)?

    func makeAsyncIterator() -> Iterator {
        Iterator(samples: self, changes: changes.makeAsyncIterator())
    }

    struct Iterator: AsyncIteratorProtocol {
        let samples: ThrottledValues
        var changes: AsyncStream<Void>.Iterator
        private var last: Duration?
        private var isAtEnd = false

        init(samples: ThrottledValues, changes: AsyncStream<Void>.Iterator) {
            self.samples = samples
            self.changes = changes
        }

        mutating func next() async -> Element? {
            await next(isolation: #isolation)
        }

        mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            guard !isAtEnd, await changes.next(isolation: actor) != nil else { return nil }
            if let last {
                let next = last + ThrottledValues.interval
                if next > samples.clock.now(), (try? await samples.clock.sleep(next)) == nil { return nil }
            }
            last = samples.clock.now()
            let sample = await samples.sample()
            isAtEnd = sample?.isLast ?? true
            return sample?.value
        }
    }
}
