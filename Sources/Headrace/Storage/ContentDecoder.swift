#if os(Linux)
import CHeadrace
#endif

/// Decodes the content coding of a file, such as gzip, with a library of the system.
///
/// Accepts a gzip file of several members and a zstd file of several frames. Other bytes after the end are an error.
final class ContentDecoder {
    /// The size of the output buffer in bytes.
    private static let bufferBytes = 256 << 10

    private let coding: ContentCoding
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bufferBytes, alignment: 16)
    /// Whether the bytes so far are a complete file.
    private(set) var isFinished = false
    /// The number of gzip members or zstd frames decoded completely; for another coding, 1 at the end of the file.
    private(set) var endCount = 0

    #if os(Linux)
    private let decoder: hr_decoder

    /// Creates a decoder; throws `contentCoding` if the system cannot decode the coding.
    init(_ coding: ContentCoding) throws(DownloadError) {
        guard ContentCoding.decodable.contains(coding), let decoder = hr_decoder_new(coding.function) else {
            buffer.deallocate()
            throw .undecodable(coding)
        }
        self.coding = coding
        self.decoder = decoder
    }

    deinit {
        hr_decoder_free(decoder)
        buffer.deallocate()
    }

    /// Decodes the next bytes, and passes the result to `take`, a buffer at a time.
    ///
    /// Returns `false` if the bytes are damaged. Throws `CancellationError` between two buffers if the task is
    /// cancelled, `contentCoding` if memory runs out, and the errors of `take`.
    func decode(_ bytes: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer) throws -> Void) throws -> Bool {
        var rest = bytes.count
        while true {
            let input = bytes.baseAddress.map { $0 + (bytes.count - rest) }
            var count = buffer.count
            let result = hr_decoder_run(decoder, input, &rest, buffer.baseAddress, &count)
            if count > 0 { try take(UnsafeRawBufferPointer(rebasing: buffer[..<count])) }
            switch result {
            case HR_DECODING_DAMAGED: return false
            case HR_DECODING_OUT_OF_MEMORY: throw DownloadError.undecodable(coding)
            default:
                isFinished = result == HR_DECODING_FINISHED
                if isFinished { endCount += 1 }
            }
            // A full buffer may not have been the last one.
            if rest == 0, isFinished || count < buffer.count { return true }
            try Task.checkCancellation()
        }
    }
    #else
    /// Always throws `contentCoding`: a decoder is not needed here, because `URLSession` decodes bodies itself.
    init(_ coding: ContentCoding) throws(DownloadError) {
        buffer.deallocate()
        throw .undecodable(coding)
    }

    deinit { buffer.deallocate() }

    func decode(_ bytes: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer) throws -> Void) throws -> Bool {
        false
    }
    #endif
}

extension ContentCoding {
    /// The codings that ``ContentDecoder`` can decode on this system, none on Apple platforms; the first use loads the
    /// libraries, which blocks.
    static let decodable: Set<ContentCoding> = {
        #if os(Linux)
        Set(allCases.filter { hr_decoder_load($0.function) != 0 })
        #else
        []
        #endif
    }()
}

extension DownloadError {
    fileprivate static func undecodable(_ coding: ContentCoding) -> DownloadError {
        DownloadError(
            .contentCoding,
            "The file has the content coding \(coding.rawValue). To decode it, the system needs the library "
                + "\(coding.library) and enough memory."
        )
    }
}

#if os(Linux)
extension ContentCoding {
    fileprivate var function: hr_coding {
        switch self {
        case .gzip: HR_CODING_GZIP
        case .deflate: HR_CODING_DEFLATE
        case .br: HR_CODING_BR
        case .zstd: HR_CODING_ZSTD
        }
    }
}
#endif
