// Stands in for CryptoKit on Apple platforms, as far as the package uses it: declarations without behavior.

import Foundation

public protocol Digest: Sequence, Hashable, ContiguousBytes, Sendable where Element == UInt8 {}

public protocol HashFunction: Sendable {
    associatedtype Digest: CryptoKit.Digest
    init()
    mutating func update(bufferPointer: UnsafeRawBufferPointer)
    func finalize() -> Digest
}

public struct AnyDigest: Digest {
    public func makeIterator() -> IndexingIterator<[UInt8]> { [].makeIterator() }
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try body(UnsafeRawBufferPointer(start: nil, count: 0))
    }
}

public struct SHA256: HashFunction {
    public init() {}
    public mutating func update(bufferPointer: UnsafeRawBufferPointer) {}
    public func finalize() -> AnyDigest { AnyDigest() }
}

public struct SHA384: HashFunction {
    public init() {}
    public mutating func update(bufferPointer: UnsafeRawBufferPointer) {}
    public func finalize() -> AnyDigest { AnyDigest() }
}

public struct SHA512: HashFunction {
    public init() {}
    public mutating func update(bufferPointer: UnsafeRawBufferPointer) {}
    public func finalize() -> AnyDigest { AnyDigest() }
}

public enum Insecure {
    public struct MD5: HashFunction {
        public init() {}
        public mutating func update(bufferPointer: UnsafeRawBufferPointer) {}
        public func finalize() -> AnyDigest { AnyDigest() }
    }

    public struct SHA1: HashFunction {
        public init() {}
        public mutating func update(bufferPointer: UnsafeRawBufferPointer) {}
        public func finalize() -> AnyDigest { AnyDigest() }
    }
}
