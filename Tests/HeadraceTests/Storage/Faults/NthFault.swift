import HeadracePlatform
import HeadraceTestSupport

@testable import Headrace

/// A file system whose n-th call fails, alone or with all calls after it.
final class NthFault: Sendable {
    typealias Call = FileSystemRecorder.Call

    /// The errors to inject.
    enum Kind: CaseIterable {
        case inputOutputOnce
        case inputOutputForEver
        case diskFullOnce
        case diskFullForEver

        var errno: Int32 { self == .inputOutputOnce || self == .inputOutputForEver ? EIO : ENOSPC }
        var isLasting: Bool { self == .inputOutputForEver || self == .diskFullForEver }

        /// Whether the call can fail with this error: a full disk fails only calls that allocate space.
        func concerns(_ call: Call) -> Bool {
            guard errno == ENOSPC else { return true }
            switch call {
            case .create, .createUnnamed, .linkOpen, .createDirectory, .write: return true
            case .setAttribute, .replace, .move, .sync, .syncDirectory: return true
            case .truncate, .setMode, .setModified, .attribute, .close, .remove, .open, .lock, .read, .readAt: break
            case .status, .openStatus, .names, .checkDirectory, .freeSpace: break
            case .openForReading, .dataRange, .setGroup, .bootID: break
            }
            return false
        }
    }

    /// The first call that failed.
    struct Hit {
        let call: Call
        let path: String
        /// The contents of the resume record at that moment; `nil` if there was none.
        let record: ControlRecord?
        /// The bytes that the partial file had received.
        let received: ByteRangeSet
        /// The received bytes that were not synced, which the kernel may discard after a failed sync.
        let unsynced: ByteRangeSet
    }

    private struct State {
        var count = 0
        var hit: Hit?
        var received = ByteRangeSet()
        var unsynced = ByteRangeSet()
    }

    let kind: Kind
    private let number: Int
    private let partialPath: String
    private let clock: TestClock
    private let state = Locked(State())

    /// - Parameters:
    ///   - kind: The error.
    ///   - number: The number of the call that fails, counted from 1.
    ///   - partialPath: The path of the download's partial file.
    ///   - clock: Advanced by each write to the partial file, so that checkpoints become due.
    init(_ kind: Kind, at number: Int, partialPath: String, clock: TestClock) {
        self.kind = kind
        self.number = number
        self.partialPath = partialPath
        self.clock = clock
    }

    var hit: Hit? { state.withLock { $0.hit } }

    /// The calls of the system, without real syncs, and with the fault.
    var files: FileSystem {
        FileSystemRecorder(to: .unsynced) { call, path throws(SystemError) in try self.intercept(call, path) }.fileCalls
    }

    private func intercept(_ call: Call, _ path: String) throws(SystemError) {
        let isFirst = state.withLock { state in
            if kind.concerns(call) { state.count += 1 }
            return state.hit == nil && state.count == number && kind.concerns(call)
        }
        if isFirst {
            let record: ControlRecord? =
                if case .record(let record)? = try? RecordFile(of: partialPath, calls: .system).read() {
                    record
                } else {
                    nil
                }
            state.withLock { state in
                let (received, unsynced) = (state.received, state.unsynced)
                state.hit = Hit(call: call, path: path, record: record, received: received, unsynced: unsynced)
            }
        }
        if isFirst || kind.isLasting && kind.concerns(call) && hit != nil { throw SystemError(errno: kind.errno) }
        guard path == partialPath else { return }
        switch call {
        case .write(let offset, let count):
            state.withLock { state in
                state.received.insert(offset..<offset + Int64(count))
                state.unsynced.insert(offset..<offset + Int64(count))
            }
            clock.advance(by: CheckpointPolicy.recordInterval)
        case .truncate(let size): state.withLock { $0.received.truncate(to: size) }
        case .sync: state.withLock { $0.unsynced = ByteRangeSet() }
        default: break
        }
    }
}
