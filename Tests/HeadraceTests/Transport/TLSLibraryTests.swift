#if os(Linux)
import CHeadrace
import Testing

@Suite(.timeLimit(.minutes(4)))
struct TLSLibraryTests {
    @Test(arguments: [
        ("OpenSSL/3.0.11", true), ("LibreSSL/3.8.2", true), ("BoringSSL", true), ("quictls/3.1", true),
        ("AWS-LC/1.2", true), ("GnuTLS/3.8.3", false), ("mbedTLS/2.28", false), ("wolfSSL/5.6", false), ("", false),
        ("(GnuTLS/3.8.3) OpenSSL/3.0.11", true), ("(OpenSSL/3.0.11) mbedTLS/2.28", false),
        ("GnuTLS/3.8 (OpenSSL/3.0)", false), ("(GnuTLS/3.8.3)", false),
        ("(a) (b) OpenSSL/1.1.1", true), ("(a) ", false),
    ])
    func `the TLS library that libcurl uses is the one without parentheses`(_ libraries: String, isOpenSSL: Bool) {
        #expect((hr_names_openssl(libraries) != 0) == isOpenSSL)
    }

    @Test func `a libcurl without TLS names no library`() {
        #expect(hr_names_openssl(nil) == 0)
    }
}
#endif
