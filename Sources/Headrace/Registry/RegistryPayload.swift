/// A change decoded from a line; parts that later releases have added are skipped and described.
struct RegistryPayload {
    /// The change; `nil` if its kind, or the state that it records, is unknown.
    let change: RegistryChange?
    /// Descriptions of the values that were skipped because they are unknown.
    let unknown: [String]

    init(_ bytes: ArraySlice<UInt8>) throws(RegistryScanner.Failure) {
        var decoder = RegistryDecoder(bytes)
        change = try decoder.change()
        guard decoder.line.isAtEnd else { throw RegistryScanner.Failure() }
        unknown = decoder.unknown
    }
}

extension RegistryDecoder {
    /// Reads a change; returns `nil` if it is unknown.
    fileprivate mutating func change() throws(Failure) -> RegistryChange? {
        try line.beginList()
        let word = try line.text()
        guard let kind = RegistryKind(rawValue: word) else {
            unknown.append("the change \"\(word)\"")
            try skipRest()
            return nil
        }
        let change = try change(kind)
        try skipRest(of: "a change \"\(word)\"")
        return change
    }

    private mutating func change(_ kind: RegistryKind) throws(Failure) -> RegistryChange? {
        switch kind {
        case .add: return .added([try entry()])
        case .state:
            let id = try line.id()
            let state = try state()
            let time: Int64? = line.isAtListEnd ? nil : try line.integer()
            return state.map { .state(id, $0, at: time) }
        case .move: return .moved(try line.id(), label: try line.integer())
        case .relabel:
            var labels: [UInt64: Int64] = [:]
            for (name, label) in try line.numbers() {
                guard let id = UInt64(hexadecimal: name.utf8) else { throw Failure() }
                labels[id] = label
            }
            return .relabelled(labels)
        case .priority: return .priority(try line.id(), try line.integer())
        case .remove: return .removed(try ids())
        }
    }
}
