import HeadracePlatform

@testable import Headrace

/// Files with a content coding, so that tests need no encoder.
enum EncodedFile {
    /// The content of ``samples``.
    static let text = Array((0..<8).map { "Line \($0) of the file.\n" }.joined().utf8)

    /// The text in each coding.
    static let samples: [(coding: ContentCoding, bytes: [UInt8])] = [
        (
            .gzip,
            bytes(
                "H4sIAAAAAAACA/PJzEtVMFDIT1MoyUhVSMvMSdXj8gGJGWIRM8IiZoxFzASLmCkWMTMsYuaoYgAbJVOHoAAAAA=="
            )
        ),
        (.deflate, bytes("eNrzycxLVTBQyE9TKMlIVUjLzEnV4/IBiRliETPCImaMRcwEi5gpFjEzLGLmqGIAjk0xTQ==")),
        (.br, bytes("G58A+OXZkScUUHs+kURrS+56CSUm0WWNwNL3vUHGvxk5AhKpTK5QRgE=")),
        (.zstd, bytes("KLUv/QRodQEA2ExpbmUgMCBvZiB0aGUgZmlsZS4KMTIzNDU2NwggwOMBsiSXsIkklzCncBdhAqsBrt0=")),
    ]

    /// 16 MiB of zeros in the coding `br`.
    static let bomb = bytes("y///P/gnAOKxQCD3/i/////wTwDEYRGA7v0f")
    static let bombSize: Int64 = 16 << 20

    private static func bytes(_ base64: String) -> [UInt8] { Data(base64Encoded: base64).map { Array($0) } ?? [] }

    /// Returns a gzip file of one member (RFC 1952), whose blocks are not compressed (RFC 1951, section 3.2.4).
    static func gzip(_ bytes: [UInt8]) -> [UInt8] {
        var file: [UInt8] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]
        let maxBlock = 0xffff
        for start in stride(from: 0, to: max(1, bytes.count), by: maxBlock) {
            let end = min(start + maxBlock, bytes.count)
            file.append(end == bytes.count ? 1 : 0)
            let length = UInt16(end - start)
            for value in [length, ~length] { file += [UInt8(value & 0xff), UInt8(value >> 8)] }
            file += bytes[start..<end]
        }
        var crc = CRC(.crc32)
        bytes.withUnsafeBytes { crc.update($0) }
        for value in [UInt32(crc.value), UInt32(bytes.count)] {
            file += (0..<4).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
        }
        return file
    }
}
