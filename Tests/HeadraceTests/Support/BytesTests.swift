import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct BytesTests {
    @Test(arguments: [
        (0, "0 bytes"), (1, "1 byte"), (1023, "1023 bytes"), (1024, "1.0 KiB"), (1535, "1.4 KiB"),
        (1_048_575, "1023.9 KiB"),
        (1_048_576, "1.0 MiB"), (5 << 30, "5.0 GiB"), (Int64.max, "7.9 EiB"),
    ])
    func `byte counts are formatted in readable units`(_ bytes: Int64, text: String) {
        #expect(bytes.inBytes == text)
    }
}
