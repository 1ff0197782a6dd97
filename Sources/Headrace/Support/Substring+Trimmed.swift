extension BidirectionalCollection<UInt8> where SubSequence == Self {
    /// The bytes without spaces and tabs at either end.
    var trimmed: Self {
        var bytes = drop(while: \.isBlank)
        while bytes.last?.isBlank == true { bytes.removeLast() }
        return bytes
    }
}

extension Substring {
    /// The text without spaces and tabs at either end.
    package var trimmed: Substring { Substring(utf8.trimmed) }
}

extension String {
    /// The trimmed members of a comma-separated list (RFC 9110, section 5.6.1), including empty ones.
    var members: [Substring] {
        // Most lists have one member.
        guard has(",") else { return [self[...].trimmed] }
        return split(separator: ",", omittingEmptySubsequences: false).map(\.trimmed)
    }
}
