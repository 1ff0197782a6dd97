#if canImport(CryptoKit)
import CryptoKit
#else
import CHeadrace
#endif

/// Computes the checksum of consecutive bytes with the system's hash functions, or a ``CRC``.
///
/// Wraps the system's context without a lock: the context has one owner, which uses it from one thread at a time.
final class Digester: Sendable {
    let algorithm: Checksum.Algorithm
    /// The CRC of the bytes so far, accessed only by the owner; `nil` if the algorithm is a hash function.
    nonisolated(unsafe) private var crc: CRC?

    #if canImport(CryptoKit)
    /// The hash function, accessed only by the owner; `nil` if the algorithm is a CRC.
    nonisolated(unsafe) private var function: (any HashFunction)?

    init(_ algorithm: Checksum.Algorithm) throws(DownloadError) {
        self.algorithm = algorithm
        crc = algorithm.polynomial.map(CRC.init)
        switch algorithm {
        case .crc32, .crc32c, .crc64nvme: function = nil
        case .md5: function = Insecure.MD5()
        case .sha1: function = Insecure.SHA1()
        case .sha256: function = SHA256()
        case .sha384: function = SHA384()
        case .sha512: function = SHA512()
        }
    }

    func update(_ bytes: UnsafeRawBufferPointer) {
        crc?.update(bytes)
        function?.update(bufferPointer: bytes)
    }

    func finalize() throws(DownloadError) -> Checksum {
        try checksum(of: crc.map { $0.bytes(algorithm.byteCount) } ?? function?.finalize().map { $0 } ?? [])
    }
    #else
    /// The context of libcrypto, freed with the digester and never shared; `nil` if the algorithm is a CRC.
    nonisolated(unsafe) private let context: hr_digest?
    /// Whether an update failed; accessed only by the owner.
    nonisolated(unsafe) private var hasFailed = false

    /// Creates the hash function's context; throws `digestUnavailable` if the system does not support the function.
    init(_ algorithm: Checksum.Algorithm) throws(DownloadError) {
        self.algorithm = algorithm
        crc = algorithm.polynomial.map(CRC.init)
        guard let function = algorithm.function else {
            context = nil
            return
        }
        guard hr_crypto_load() != 0 else {
            throw DownloadError(
                .digestUnavailable,
                "A \(algorithm) checksum cannot be computed, because libcrypto could not be loaded: "
                    + "\(String(cString: hr_crypto_description())). Install the package libssl3 (Debian, Ubuntu), "
                    + "openssl-libs (Fedora) or libcrypto3 (Alpine)."
            )
        }
        guard let context = hr_digest_new(function) else {
            throw DownloadError(.digestUnavailable, "The system's libcrypto does not support \(algorithm) checksums.")
        }
        self.context = context
    }

    deinit {
        if let context { hr_digest_free(context) }
    }

    /// Adds the next bytes; ``finalize()`` reports a failure.
    func update(_ bytes: UnsafeRawBufferPointer) {
        crc?.update(bytes)
        guard let context else { return }
        if hr_digest_update(context, bytes.baseAddress, bytes.count) != 1 { hasFailed = true }
    }

    /// Completes the computation and returns the checksum of all bytes; must be called only once.
    ///
    /// Throws `digestUnavailable` if the system failed to compute it.
    func finalize() throws(DownloadError) -> Checksum {
        guard let context else { return try checksum(of: crc?.bytes(algorithm.byteCount) ?? []) }
        let bytes = [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
            count = hasFailed ? 0 : Int(hr_digest_finalize(context, buffer.baseAddress))
        }
        return try checksum(of: bytes)
    }
    #endif

    private func checksum(of bytes: [UInt8]) throws(DownloadError) -> Checksum {
        guard let checksum = Checksum(algorithm, bytes: bytes) else {
            throw DownloadError(.digestUnavailable, "The system failed to compute a \(algorithm) checksum.")
        }
        return checksum
    }
}

extension Checksum.Algorithm {
    /// The polynomial of a CRC; `nil` for a hash function.
    fileprivate var polynomial: CRC.Polynomial? {
        switch self {
        case .crc32: .crc32
        case .crc32c: .crc32c
        case .crc64nvme: .crc64nvme
        case .md5, .sha1, .sha256, .sha384, .sha512: nil
        }
    }
}

extension CRC {
    /// Returns the check value as big-endian bytes.
    fileprivate func bytes(_ count: Int) -> [UInt8] {
        withUnsafeBytes(of: value.bigEndian) { Array($0.suffix(count)) }
    }
}

#if !canImport(CryptoKit)
extension Checksum.Algorithm {
    /// The hash function of libcrypto; `nil` for a CRC.
    fileprivate var function: hr_digest_algorithm? {
        switch self {
        case .crc32, .crc32c, .crc64nvme: nil
        case .md5: HR_DIGEST_MD5
        case .sha1: HR_DIGEST_SHA1
        case .sha256: HR_DIGEST_SHA256
        case .sha384: HR_DIGEST_SHA384
        case .sha512: HR_DIGEST_SHA512
        }
    }
}
#endif
