import Testing

@testable import Headrace

/// The dictionary for knowledge about servers, of which a process may contact any number.
@Suite(.timeLimit(.minutes(4)))
struct RecentEntriesTests {
    @Test func `the entries used last are retained, and their number is limited`() {
        var entries = RecentEntries<Int, String>(capacity: 10)
        for key in 0..<1000 {
            entries[key] = "\(key)"
            #expect(entries.count <= 20)
        }
        for key in 990..<1000 {
            let value = entries[key]
            #expect(value == "\(key)")
        }
        let old = entries[979]
        #expect(old == nil)
    }

    @Test func `an entry that is read again and again remains`() {
        var entries = RecentEntries<Int, Int>(capacity: 10)
        entries[-1] = 0
        for key in 0..<1000 {
            entries[key] = key
            if key % 9 == 0 { entries[-1]? += 1 }
        }
        let uses = entries[-1]
        #expect(uses == 112)
    }

    @Test func `a removed entry is gone, whatever its generation`() {
        var entries = RecentEntries<Int, Int>(capacity: 2)
        for key in 0..<3 { entries[key] = key }
        for key in 0..<3 {
            entries[key] = nil
            let value = entries[key]
            #expect(value == nil)
        }
        #expect(entries.count == 0)
    }
}
