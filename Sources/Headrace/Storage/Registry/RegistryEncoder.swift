#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Writes changes as lines.
struct RegistryEncoder {
    enum Failure: Error, Hashable {
        /// What a download holds is more than a list takes.
        case tooLarge(UInt64)
        /// A change that is made in one line or not at all is longer than a line.
        case indivisible
    }

    /// So many downloads share a line: with more of them more are lost with it, with fewer it takes longer to read.
    private static let entriesPerLine = 32
    private static let idsPerLine = 4096

    private let json = JSONEncoder()

    init() {
        json.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    }

    /// The lines of changes, in order.
    func lines(of changes: some Sequence<RegistryChange>) throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        for change in changes {
            switch change {
            case .added(let entries): try append(entries, to: &bytes, maxBytes: RegistryJournal.maxEntryBytes)
            case .removed(let ids):
                for ids in ids.pieces(of: Self.idsPerLine) {
                    RegistryJournal.append(try payload(of: .removed(Array(ids))), to: &bytes)
                }
            case .state(let id, _):
                let payload = try payload(of: change)
                guard payload.count <= RegistryJournal.maxStateBytes else { throw .tooLarge(id) }
                RegistryJournal.append(payload, to: &bytes)
            case .moved, .relabelled, .priority, .limits:
                let payload = try payload(of: change)
                guard payload.count <= RegistryJournal.maxPayloadBytes else { throw .indivisible }
                RegistryJournal.append(payload, to: &bytes)
            }
        }
        return bytes
    }

    /// The lines of downloads as they are; `maxBytes` is the longest payload.
    fileprivate func append(_ entries: [RegistryEntry], to bytes: inout [UInt8], maxBytes: Int) throws(Failure) {
        var rest = entries.pieces(of: Self.entriesPerLine).reversed().map(Array.init)
        while let next = rest.popLast() {
            let payload = try payload(of: .added(next))
            if payload.count <= maxBytes {
                RegistryJournal.append(payload, to: &bytes)
            } else if next.count > 1 {
                rest += next.pieces(of: (next.count + 1) / 2).reversed().map(Array.init)
            } else {
                throw .tooLarge(next[0].id)
            }
        }
    }

    private func payload(of change: RegistryChange) throws(Failure) -> [UInt8] {
        do {
            return Array(try json.encode(EncodedChange(change: change)))
        } catch {
            throw .indivisible
        }
    }
}

/// The journal that an image has when nothing in it is dead, in pieces of about a mebibyte.
struct RegistrySnapshot {
    private let image: RegistryImage
    private let entriesPerPiece: Int
    private let encoder = RegistryEncoder()
    private var ids: ArraySlice<UInt64>
    private var isBegun = false

    init(of image: RegistryImage, entriesPerPiece: Int = 4096) {
        self.image = image
        self.entriesPerPiece = entriesPerPiece
        ids = image.orderedIDs[...]
    }

    mutating func next() throws(RegistryEncoder.Failure) -> [UInt8]? {
        guard !ids.isEmpty || !isBegun else { return nil }
        var bytes: [UInt8] = []
        if !isBegun {
            bytes = RegistryJournal.header
            if !image.limits.isEmpty { bytes += try encoder.lines(of: [.limits(image.limits)]) }
            isBegun = true
        }
        let entries = ids.prefix(entriesPerPiece).compactMap { image.entries[$0] }
        ids = ids.dropFirst(entriesPerPiece)
        try encoder.append(entries, to: &bytes, maxBytes: RegistryJournal.maxPayloadBytes)
        return bytes
    }
}

/// A change as the list of its values, its kind first.
private struct EncodedChange: Encodable {
    let change: RegistryChange

    func encode(to encoder: any Encoder) throws {
        var list = encoder.unkeyedContainer()
        switch change {
        case .added(let entries):
            try list.encode(RegistryKind.add.rawValue)
            for entry in entries { try list.encode(EncodedEntry(entry: entry)) }
        case .state(let id, let state):
            try list.encode(RegistryKind.state.rawValue)
            try list.encode(id.hexadecimal)
            try list.encode(EncodedState(state: state))
        case .moved(let id, let label):
            try list.encode(RegistryKind.move.rawValue)
            try list.encode(id.hexadecimal)
            try list.encode(label)
        case .relabelled(let labels):
            try list.encode(RegistryKind.relabel.rawValue)
            try list.encode(Dictionary(uniqueKeysWithValues: labels.lazy.map { ($0.hexadecimal, $1) }))
        case .priority(let id, let priority):
            try list.encode(RegistryKind.priority.rawValue)
            try list.encode(id.hexadecimal)
            try list.encode(priority)
        case .removed(let ids):
            try list.encode(RegistryKind.remove.rawValue)
            try list.encode(contentsOf: ids.lazy.map(\.hexadecimal))
        case .limits(let limits):
            try list.encode(RegistryKind.limits.rawValue)
            try list.encode(limits)
        }
    }
}

/// What every download has, and then the name and the value of each option in turn: a list is several times faster to
/// read than names and values by key.
private struct EncodedEntry: Encodable {
    let entry: RegistryEntry

    func encode(to encoder: any Encoder) throws {
        let request = entry.request
        var list = encoder.unkeyedContainer()
        try list.encode(entry.id.hexadecimal)
        try list.encode(entry.label)
        try list.encode(request.url)
        switch request.destination {
        case .file: try list.encode(RegistryPlace.file.rawValue)
        case .directory: try list.encode(RegistryPlace.directory.rawValue)
        }
        try list.encode(request.destination.path.description)
        if request.conflictPolicy != .rename { try list.encode(.conflict, request.conflictPolicy.rawValue) }
        if request.resumePolicy != .validated { try list.encode(.resume, request.resumePolicy.rawValue) }
        if !request.headers.isEmpty { try list.encode(.headers, request.headers.flatMap { [$0.name, $0.value] }) }
        if !request.withheldHeaders.isEmpty { try list.encode(.withheld, request.withheldHeaders) }
        if request.withholdsUser { try list.encode(.withheldUser, true) }
        if let group = request.group { try list.encode(.group, group) }
        if let title = request.title { try list.encode(.title, title) }
        if !request.userInfo.isEmpty {
            try list.encode(.info, request.userInfo.sorted { $0.key < $1.key }.flatMap { [$0.key, $0.value] })
        }
        if request.priority != 0 { try list.encode(.priority, request.priority) }
        if let time = request.earliestBegin { try list.encode(.notBefore, time) }
        if request.startsPaused { try list.encode(.paused, true) }
        if entry.state != .waiting { try list.encode(.state, EncodedState(state: entry.state)) }
    }
}

extension UnkeyedEncodingContainer {
    fileprivate mutating func encode(_ option: RegistryOption, _ value: some Encodable) throws {
        try encode(option.rawValue)
        try encode(value)
    }
}

private struct EncodedState: Encodable {
    let state: RegistryEntry.State

    func encode(to encoder: any Encoder) throws {
        var list = encoder.unkeyedContainer()
        try list.encode(state.name.rawValue)
        switch state {
        case .waiting, .running, .paused, .cancelled: break
        case .finished(let path, let size):
            try list.encode(path.description)
            try list.encode(size)
        case .failed(let code, let message):
            try list.encode(code)
            try list.encode(message)
        }
    }
}

extension RegistryEntry.State {
    fileprivate var name: RegistryStateName {
        switch self {
        case .waiting: .waiting
        case .running: .running
        case .paused: .paused
        case .finished: .finished
        case .failed: .failed
        case .cancelled: .cancelled
        }
    }
}

extension Array {
    fileprivate func pieces(of count: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: self.count, by: count).map { self[$0..<Swift.min($0 + count, self.count)] }
    }
}
