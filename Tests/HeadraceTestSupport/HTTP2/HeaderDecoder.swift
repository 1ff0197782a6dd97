import CHeadraceTestSupport

/// Decodes the header blocks of one HTTP/2 connection (RFC 7541).
struct HeaderDecoder {
    private let decoder: hpack_decoder

    static var isAvailable: Bool { hpack_load() }

    /// Returns `nil` if libnghttp2 is unavailable.
    init?() {
        guard hpack_load(), let decoder = hpack_new() else { return nil }
        self.decoder = decoder
    }

    /// Returns the fields of a complete block; `nil` if it is malformed.
    func fields(of block: [UInt8]) -> [RecordedRequest.Field]? {
        var fields: [RecordedRequest.Field] = []
        var offset = 0
        while true {
            var field = hpack_field()
            let count = block[offset...].withUnsafeBufferPointer {
                Int(hpack_next(decoder, $0.baseAddress, $0.count, &field))
            }
            guard count >= 0 else { return nil }
            offset += count
            guard let name = field.name else {
                if offset == block.count { return fields }
                continue
            }
            fields.append(
                RecordedRequest.Field(
                    name: text(name, field.name_size),
                    value: field.value.map { text($0, field.value_size) } ?? ""
                )
            )
        }
    }

    func free() {
        hpack_free(decoder)
    }

    private func text(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> String {
        String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }

    /// Encodes fields as literals without compression, so that any text can be sent.
    static func block(of fields: [HTTP2Step.Field]) -> [UInt8] {
        fields.flatMap { field in [0] + string(field.name) + string(field.value) }
    }

    /// Encodes a length with a seven-bit prefix (RFC 7541, section 5.1), followed by the text.
    private static func string(_ text: String) -> [UInt8] {
        var length = text.utf8.count
        guard length >= 127 else { return [UInt8(length)] + text.utf8 }
        var bytes: [UInt8] = [127]
        length -= 127
        while length >= 128 {
            bytes.append(UInt8(length % 128) | 0x80)
            length /= 128
        }
        return bytes + [UInt8(length)] + text.utf8
    }
}
