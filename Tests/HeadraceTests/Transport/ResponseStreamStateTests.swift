import HeadraceTestSupport
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)), .computing)
struct ResponseStreamStateTests {
    private func streaming(highWatermark: Int = 400) -> ResponseStreamState {
        var state = ResponseStreamState(highWatermark: highWatermark)
        state.headArrived()
        return state
    }

    /// A function, because the macro cannot take a mutating call.
    private func expect<Value: Equatable>(
        _ value: Value,
        _ expected: Value,
        _ location: SourceLocation = #_sourceLocation
    ) {
        #expect(value == expected, sourceLocation: location)
    }

    private func close(_ state: inout ResponseStreamState) -> [Bool] {
        let (stopsProducer, wakesReader) = state.close()
        return [stopsProducer, wakesReader]
    }

    @Test func `a reader waiting for the head is woken by the flush after it`() {
        var state = ResponseStreamState(highWatermark: 400)
        #expect(state.nextHead() == .wait)
        expect(state.wait(forHead: true), true)
        expect(state.flush(.head), false)
        state.headArrived()
        expect(state.flush(.head), true)
        #expect(state.nextHead() == .chunk)
        expect(state.wait(forHead: true), false)
    }

    @Test func `the producer is paused at the high watermark and resumed at the low one`() {
        var state = streaming()
        expect(state.bytesArrived(399).demand, .more)
        expect(state.bytesArrived(1).demand, .pause)
        expect(state.taken(199), false)
        #expect(state.isProducerPaused)
        expect(state.taken(1), true)
        #expect(!state.isProducerPaused)
        expect(state.taken(200), false)
    }

    /// Regression: such bytes reset the paused state, and the transfer hung forever.
    @Test func `bytes that arrive after the pause do not undo it`() {
        var state = streaming()
        _ = state.bytesArrived(400)
        expect(state.taken(150), false)
        expect(state.bytesArrived(10).demand, .pause)
        #expect(state.isProducerPaused)
        expect(state.taken(100), true)
    }

    @Test func `a waiting reader is woken at the threshold or by the flush`() {
        var state = streaming()
        expect(state.wait(forHead: false), true)
        expect(state.bytesArrived(99).wakesReader, false)
        expect(state.flush(.head), false)
        #expect(state.isHolding)
        expect(state.flush(.all), true)
        expect(state.flush(.all), false)
        _ = state.taken(99)
        expect(state.wait(forHead: false), true)
        expect(state.bytesArrived(100).wakesReader, true)
        #expect(!state.isHolding)
    }

    @Test func `the reader takes bytes in batches, until the buffer is empty`() {
        var state = streaming()
        _ = state.bytesArrived(99)
        #expect(state.nextChunk() == .wait)
        _ = state.bytesArrived(1)
        #expect(state.nextChunk() == .chunk)
        _ = state.taken(60)
        #expect(state.nextChunk() == .chunk)
        _ = state.taken(40)
        _ = state.bytesArrived(10)
        #expect(state.nextChunk() == .wait)
        expect(state.flush(.all), false)
        #expect(state.nextChunk() == .chunk)
    }

    @Test func `buffered bytes are delivered before the end and before a failure`() {
        var finished = streaming()
        _ = finished.bytesArrived(5)
        expect(finished.finished(), false)
        #expect(finished.nextChunk() == .chunk)
        _ = finished.taken(5)
        #expect(finished.nextChunk() == .end)

        let failure = StreamFailure.download(DownloadError(.connectionLost, "cut"))
        var failed = streaming()
        _ = failed.bytesArrived(5)
        expect(failed.failed(failure), false)
        #expect(failed.nextChunk() == .chunk)
        _ = failed.taken(5)
        #expect(failed.nextChunk() == .failure(failure))
    }

    @Test func `closing stops an active producer and wakes the reader with a cancellation`() {
        var state = streaming()
        expect(state.wait(forHead: false), true)
        #expect(close(&state) == [true, true])
        #expect(state.nextChunk() == .failure(.cancelled))
        expect(state.bytesArrived(1).demand, .stop)
        #expect(close(&state) == [false, false])
    }

    @Test func `closing after the end has no effect`() {
        var state = streaming()
        _ = state.finished()
        #expect(close(&state) == [false, false])
    }

    @Test func `a failure after the end changes nothing`() {
        var state = streaming()
        _ = state.finished()
        expect(state.failed(.cancelled), false)
        #expect(state.nextChunk() == .end)
    }

    @Test(arguments: 0..<20)
    func `in a random walk no bytes are lost and no reader waits forever`(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var state = streaming(highWatermark: 1000)
        var arrived = 0
        var taken = 0
        var isProducing = true
        var isWaiting = false
        for _ in 0..<10_000 {
            if isProducing, Bool.random(using: &random) {
                let count = Int.random(in: 1...300, using: &random)
                let (demand, wakes) = state.bytesArrived(count)
                arrived += count
                isProducing = demand == .more
                if wakes { isWaiting = false }
            } else if isProducing, state.flush(.all) {
                isWaiting = false
            }
            if !isWaiting {
                if state.nextChunk() == .chunk {
                    let count = Int.random(in: 1...state.bufferedBytes, using: &random)
                    taken += count
                    if state.taken(count) { isProducing = true }
                } else {
                    isWaiting = state.wait(forHead: false)
                }
            }
            #expect(arrived - taken == state.bufferedBytes)
            #expect(state.bufferedBytes < 1000 + 300)
            #expect(isProducing || !isWaiting, "both sides wait")
            #expect(isProducing != state.isProducerPaused)
        }
    }
}
