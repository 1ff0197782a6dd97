package import HeadracePlatform

/// How a file differs from its expected contents.
package enum FileDifference: Sendable, Hashable {
    /// The file is missing or cannot be read.
    case unreadable
    /// The offset of the first wrong byte.
    case byte(at: Int64)
    /// The bytes match up to the shorter end, but the file has this size.
    case size(Int64)
}

extension Response.Body {
    /// Compares a file with this body, piece by piece; `nil` if they are equal.
    package func difference(fromFileAt file: URL) -> FileDifference? {
        let descriptor = open(file.path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return .unreadable }
        defer { close(descriptor) }
        var piece = [UInt8](repeating: 0, count: 1 << 20)
        var offset: Int64 = 0
        while true {
            let count = read(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return .unreadable }
            if count == 0 { return offset == self.count ? nil : .size(offset) }
            let comparable = Int(min(Int64(count), self.count - offset))
            if let place = firstDifference(in: piece[..<comparable], at: offset) { return .byte(at: place) }
            guard comparable == count else { return FileProbe.size(of: file).map { .size($0) } }
            offset += Int64(count)
        }
    }

    private func firstDifference(in piece: ArraySlice<UInt8>, at offset: Int64) -> Int64? {
        var rest = piece
        while !rest.isEmpty {
            let place = offset + Int64(rest.startIndex)
            let expected = run(at: place, upTo: Int64(rest.count))
            let actual = rest.prefix(expected.count)
            // The byte-wise comparison runs only for the one run that differs.
            if !isEqual(actual, expected) {
                let equalCount = zip(actual, expected).prefix { $0 == $1 }.count
                return place + Int64(equalCount)
            }
            rest = rest.dropFirst(expected.count)
        }
        return nil
    }

    private func isEqual(_ left: ArraySlice<UInt8>, _ right: ArraySlice<UInt8>) -> Bool {
        left.withUnsafeBytes { left in
            right.withUnsafeBytes { right in
                guard let left = left.baseAddress, let other = right.baseAddress else { return true }
                return memcmp(left, other, right.count) == 0
            }
        }
    }
}
