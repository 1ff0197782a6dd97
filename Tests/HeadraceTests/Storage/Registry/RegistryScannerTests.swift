import Foundation
import HeadraceTestSupport
import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct RegistryScannerTests {
    private func scan<Value>(
        _ json: String,
        _ read: (inout RegistryScanner) throws(RegistryScanner.Failure) -> Value
    ) -> Value? {
        var scanner = RegistryScanner(Array(json.utf8)[...])
        guard let value = try? read(&scanner), scanner.isAtEnd else { return nil }
        return value
    }

    @Test(arguments: [
        (#""""#, ""), (#""a b""#, "a b"), (#""ä\u00e4""#, "ää"), (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
        (#""\uD83D\ude00""#, "😀"), (#""\u0000\u001f""#, "\u{0}\u{1f}"), ("\"\u{7f}\u{2028}\"", "\u{7f}\u{2028}"),
    ])
    func `a string is read`(_ json: String, _ text: String) {
        #expect(scan(json) { scanner throws(RegistryScanner.Failure) in try scanner.text() } == text)
        #expect(scan("[\(json)]") { scanner throws(RegistryScanner.Failure) in try scanner.texts() } == [text])
    }

    @Test(arguments: [
        "", "\"", "\"a", "a", "1", "\"\n\"", "\"\u{1f}\"", #""\""#, #""\x""#, #""\u12""#, #""\u12g4""#, #""\u+123""#,
        #""\ud83d""#, #""\ud83dx""#, #""\ud83d\u0041""#, #""\ude00""#, #""\ude00\ud83d""#, #""a"b"#, #" "a""#,
        "[\"a\"]",
        "\"a\" ", "\"\\",
    ])
    func `an invalid string is rejected`(_ json: String) {
        #expect(scan(json) { scanner throws(RegistryScanner.Failure) in try scanner.text() } == nil)
    }

    @Test func `bytes that are not UTF-8 are not a string`() {
        for bytes: [UInt8] in [[0xff], [0xc3], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0x5c, 0xc3, 0xa4]] {
            var scanner = RegistryScanner(([0x22] + bytes + [0x22])[...])
            #expect(throws: RegistryScanner.Failure.self) { try scanner.text() }
        }
    }

    @Test(arguments: [
        ("0", 0), ("-0", 0), ("7", 7), ("-128", -128), ("127", 127), ("128", nil), ("-129", nil), ("1000", nil),
        ("01", nil), ("-01", nil), ("", nil), ("-", nil), ("+1", nil), ("1.0", nil), ("1e1", nil), ("a", nil),
        ("\"1\"", nil),
    ])
    func `a number is read only in its canonical spelling`(_ json: String, _ number: Int8?) {
        #expect(scan(json) { scanner throws(RegistryScanner.Failure) in try scanner.integer() } == number)
    }

    @Test(arguments: [
        "0", "-1.5e+10", "1E-1", "0.0", "true", "false", "null", "\"a\"", "[]", "{}", "[[],{},[1,\"a\",null]]",
        #"{"a":1,"b":{"c":[true]}}"#,
    ])
    func `any value can be skipped`(_ json: String) {
        func skip(_ json: String) -> Bool {
            scan(json) { scanner throws(RegistryScanner.Failure) in try scanner.skip() } != nil
        }
        #expect(skip(json))
        #expect(skip("[\(json),\(json)]"))
        #expect(skip("{\"k\":\(json)}"))
        #expect(!skip("[\(json)\(json)]"))
        #expect(!skip("[\(json),]") && !skip("[,\(json)]") && !skip("[\(json)") && !skip("{\(json)}"))
    }

    @Test(arguments: [
        "", "tru", "truex", "nul", "-", "1.", ".5", "1e", "1e+", "01", "+1", "[", "]", "[1", "{", "{\"a\"}", "{\"a\":}",
        "{\"a\":1,}", "{1:1}", "[1 ,2]", "[1;2]", "NaN", "'a'", String(repeating: "[", count: 10_000),
    ])
    func `an invalid value cannot be skipped`(_ json: String) {
        #expect(scan(json) { scanner throws(RegistryScanner.Failure) in try scanner.skip() } == nil)
    }

    /// The output is valid JSON for other readers too.
    @Test func `the output can be read by any other JSON parser`() throws {
        for seed: UInt64 in 0..<50 {
            var random = SeededRandom(seed: seed)
            let texts = (0..<5).map { _ in
                String(
                    String.UnicodeScalarView(
                        (0..<Int.random(in: 0...9, using: &random)).compactMap { _ in
                            Unicode.Scalar(
                                UInt32.random(in: 0...(Bool.random(using: &random) ? 0x7f : 0x1_ffff), using: &random)
                            )
                        }
                    )
                )
            }
            var writer = RegistryWriter()
            writer.write(texts)
            #expect(try JSONDecoder().decode([String].self, from: Data(writer.bytes)) == texts, "seed \(seed)")
            var scanner = RegistryScanner(writer.bytes[...])
            #expect(try scanner.texts() == texts, "seed \(seed)")
            let encoded = try JSONEncoder().encode(texts)
            scanner = RegistryScanner(Array(encoded)[...])
            #expect(try scanner.texts() == texts, "seed \(seed)")
        }
    }
}
