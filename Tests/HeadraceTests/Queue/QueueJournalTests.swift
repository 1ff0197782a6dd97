import Foundation
import HeadracePlatform
import HeadraceTestSupport
import Testing

@testable import Headrace

/// The changes of a queue's journal that have to survive a power cut.
@Suite(.timeLimit(.minutes(4)))
struct QueueJournalTests {
    private let id = Download.ID(rawValue: 1)

    @Test(
        arguments: [
            ([.running], false),
            ([.running, .waiting, .requeued, .running], false),
            ([.paused], true),
            ([.paused, .waiting], true),
            ([.cancelled, .waiting], true),
            ([.failed(code: "network", message: "lost"), .waiting], true),
            ([.running, .failed(code: "network", message: "lost")], true),
        ] as [([RegistryEntry.State], Bool)]
    )
    func `a change is synced unless a waiting download would take its place`(
        _ states: [RegistryEntry.State],
        _ isSynced: Bool
    ) {
        let bases = RegistryBaseDirectories(of: URL(filePath: "/registry"))
        var journal = QueueJournal(bases: bases, EmptyCollection<RegistryEntry>(), leftOut: [])
        for state in states {
            _ = journal.takeChanges(syncing: true, always: false, members: [])
            journal.note(id, state)
        }
        let written = journal.takeChanges(syncing: false, always: false, members: [])
        #expect(written != nil)
        let synced = journal.takeChanges(syncing: true, always: false, members: [])
        #expect((synced != nil) == isSynced)
    }

    /// Regression: a manager released without a shutdown lost its last changes.
    @Test func `the last changes are written with the whole queue if the journal requires it`() throws {
        let disk = MemoryDisk()
        let file = try RegistryFile.open("/list", .init(syncs: true), calls: disk.calls).file
        defer { file.close() }
        let bases = RegistryBaseDirectories(of: URL(filePath: "/list"))
        let journal = QueueJournal(bases: bases, EmptyCollection<RegistryEntry>(), leftOut: [])
        var state = QueueState(scheduler: Scheduler(limit: 1), journal: journal)
        for count in 1...2 {
            let url = try #require(URL(string: "http://h/\(count)"))
            let addition = QueueAddition(request: DownloadRequest(url, to: .directory(URL(filePath: "/"))))
            _ = state.add([addition], skippingInvalid: false, observers: QueueObservers(), at: .zero)
            try state.writeChanges(to: file)
            #expect(try RegistryFile.read("/list", calls: disk.calls).snapshot.entries.count == count)
            // As another process does.
            try disk.calls.remove("/list/\(RegistryStore.fileName)")
        }
    }
}
