extension Collection<UInt8> {
    /// The bytes without the byte order mark of UTF-8, with which some editors begin a file.
    package var withoutByteOrderMark: SubSequence {
        let mark = "\u{FEFF}".utf8
        return starts(with: mark) ? dropFirst(mark.count) : self[...]
    }
}
