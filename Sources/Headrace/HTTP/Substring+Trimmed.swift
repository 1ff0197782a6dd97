extension BidirectionalCollection<UInt8> where SubSequence == Self {
    /// The bytes without blanks around them.
    var trimmed: Self {
        var bytes = drop(while: \.isBlank)
        while bytes.last?.isBlank == true { bytes.removeLast() }
        return bytes
    }
}

extension Substring {
    /// The text without blanks around it.
    package var trimmed: Substring { Substring(utf8.trimmed) }
}

extension String {
    /// The members of a list (RFC 9110, section 5.6.1), also those that are empty, without blanks around them.
    var members: [Substring] {
        // Most lists are of one.
        guard has(",") else { return [self[...].trimmed] }
        return split(separator: ",", omittingEmptySubsequences: false).map(\.trimmed)
    }
}
