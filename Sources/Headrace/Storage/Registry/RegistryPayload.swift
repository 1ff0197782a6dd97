/// A change as it is read from a line; whatever a later release has put there as well is passed over and told.
struct RegistryPayload: Decodable {
    /// Nil where the kind of change is not known.
    private(set) var change: RegistryChange?
    /// What was passed over, in words.
    private(set) var unknown: [String] = []
    /// How many downloads were passed over since what they tell cannot be.
    private(set) var invalidEntries = 0

    init(from decoder: any Decoder) throws {
        var list = try decoder.unkeyedContainer()
        let word = try list.decode(String.self)
        guard let kind = RegistryKind(rawValue: word) else {
            unknown.append("the change \"\(word)\"")
            return
        }
        switch kind {
        case .add: change = .added(try entries(&list))
        case .state:
            let id = try list.decodeID()
            let state = try list.decode(DecodedState.self)
            unknown += state.unknown
            change = state.state.map { .state(id, $0) }
        case .move: change = .moved(try list.decodeID(), label: try list.decode(Int64.self))
        case .relabel:
            var labels: [UInt64: Int64] = [:]
            for (text, label) in try list.decode([String: Int64].self) {
                guard let id = UInt64(hexadecimal: text) else { throw list.invalid("no identity") }
                labels[id] = label
            }
            change = .relabelled(labels)
        case .priority: change = .priority(try list.decodeID(), try list.decode(Int.self))
        case .remove:
            var ids: [UInt64] = []
            while !list.isAtEnd { ids.append(try list.decodeID()) }
            change = .removed(ids)
        case .limits: change = .limits(try list.decode([String: Int64].self))
        }
        if !list.isAtEnd { unknown.append("more values of a change \"\(word)\"") }
    }

    private mutating func entries(_ list: inout any UnkeyedDecodingContainer) throws -> [RegistryEntry] {
        var entries: [RegistryEntry] = []
        while !list.isAtEnd {
            do {
                let decoded = try list.decode(DecodedEntry.self)
                unknown += decoded.unknown
                entries.append(decoded.entry)
            } catch {
                _ = try list.decode(Skipped.self)
                invalidEntries += 1
            }
        }
        return entries
    }
}

private struct DecodedEntry: Decodable {
    private(set) var entry: RegistryEntry
    private(set) var unknown: [String] = []

    init(from decoder: any Decoder) throws {
        var list = try decoder.unkeyedContainer()
        let id = try list.decodeID()
        let label = try list.decode(Int64.self)
        let url = try list.decode(String.self)
        let place = RegistryPlace(rawValue: try list.decode(String.self))
        let path = try list.decodePath()
        let destination: RegistryRequest.Destination
        switch place {
        case .file: destination = .file(path)
        case .directory: destination = .directory(path)
        case nil: throw list.invalid("no place")
        }
        entry = RegistryEntry(id: id, RegistryRequest(url: url, destination: destination), label: label)
        while !list.isAtEnd {
            let name = try list.decode(String.self)
            if let option = RegistryOption(rawValue: name) {
                try decode(option, &list)
            } else {
                _ = try list.decode(Skipped.self)
                unknown.append("the field \"\(name)\" of a download")
            }
        }
    }

    private mutating func decode(_ option: RegistryOption, _ list: inout any UnkeyedDecodingContainer) throws {
        switch option {
        case .conflict:
            let word = try list.decode(String.self)
            let policy = DownloadRequest.ConflictPolicy(rawValue: word)
            // What is not known becomes what loses nothing.
            entry.request.conflictPolicy = policy ?? .fail
            if policy == nil { unknown.append("the conflict policy \"\(word)\"") }
        case .resume:
            let word = try list.decode(String.self)
            let policy = DownloadRequest.ResumePolicy(rawValue: word)
            entry.request.resumePolicy = policy ?? .validated
            if policy == nil { unknown.append("the resume policy \"\(word)\"") }
        case .headers: entry.request.keep(try list.decodePairs().map { HeaderField(name: $0, value: $1) })
        case .withheld: entry.request.withhold(try list.decode([String].self))
        case .withheldUser: if try list.decode(Bool.self) { entry.request.withholdUser() }
        case .group: entry.request.group = try list.decode(String.self)
        case .title: entry.request.title = try list.decode(String.self)
        case .info: entry.request.userInfo = Dictionary(try list.decodePairs()) { $1 }
        case .priority: entry.request.priority = try list.decode(Int.self)
        case .notBefore: entry.request.earliestBegin = try list.decode(Int64.self)
        case .paused: entry.request.startsPaused = try list.decode(Bool.self)
        case .state:
            let decoded = try list.decode(DecodedState.self)
            entry.state = decoded.state ?? .waiting
            unknown += decoded.unknown
        }
    }
}

private struct DecodedState: Decodable {
    /// Nil where it is not known.
    private(set) var state: RegistryEntry.State?
    private(set) var unknown: [String] = []

    init(from decoder: any Decoder) throws {
        var list = try decoder.unkeyedContainer()
        let word = try list.decode(String.self)
        guard let name = RegistryStateName(rawValue: word) else {
            unknown.append("the state \"\(word)\"")
            return
        }
        state =
            switch name {
            case .waiting: .waiting
            case .running: .running
            case .paused: .paused
            case .finished: .finished(try list.decodePath(), size: try list.decode(Int64.self))
            case .failed: .failed(code: try list.decode(String.self), message: try list.decode(String.self))
            case .cancelled: .cancelled
            }
        if !list.isAtEnd { unknown.append("more values of the state \"\(word)\"") }
    }
}

/// Any value, which is not looked at.
private struct Skipped: Decodable {
    init(from decoder: any Decoder) {}
}

extension UnkeyedDecodingContainer {
    fileprivate mutating func decodeID() throws -> UInt64 {
        guard let id = UInt64(hexadecimal: try decode(String.self)) else { throw invalid("no identity") }
        return id
    }

    fileprivate mutating func decodePath() throws -> RegistryPath {
        guard let path = RegistryPath(try decode(String.self)) else { throw invalid("no path") }
        return path
    }

    /// Two texts in turn, to the end of a list.
    fileprivate mutating func decodePairs() throws -> [(String, String)] {
        let texts = try decode([String].self)
        guard texts.count.isMultiple(of: 2) else { throw invalid("no pairs") }
        return stride(from: 0, to: texts.count, by: 2).map { (texts[$0], texts[$0 + 1]) }
    }

    fileprivate func invalid(_ what: String) -> DecodingError {
        .dataCorrupted(DecodingError.Context(codingPath: codingPath, debugDescription: what))
    }
}
