extension Substring {
    /// The text without blanks around it.
    package var trimmed: Substring {
        var bytes = utf8.drop(while: \.isBlank)
        while let last = bytes.last, last.isBlank { bytes.removeLast() }
        return Substring(bytes)
    }
}

extension String {
    /// The members of a list (RFC 9110, section 5.6.1), also those that are empty, without blanks around them.
    var members: [Substring] {
        // Most lists are of one.
        guard utf8.contains(UInt8(ascii: ",")) else { return [self[...].trimmed] }
        return split(separator: ",", omittingEmptySubsequences: false).map(\.trimmed)
    }
}
