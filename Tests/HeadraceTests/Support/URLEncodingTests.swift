import HeadracePlatform
import Testing

@testable import Headrace

/// URLs as people type them and as servers send them.
@Suite(.timeLimit(.minutes(1)))
struct URLEncodingTests {
    @Test(arguments: [
        ("http://h/a%20b?x=1#f", "http://h/a%20b?x=1#f"),
        ("http://h/ünï%20b", "http://h/%C3%BCn%C3%AF%20b"),
        ("http://h/q?r=http%3A%2F%2Fx&n=a b", "http://h/q?r=http%3A%2F%2Fx&n=a%20b"),
        ("http://h/x|y%2Fz", "http://h/x%7Cy%2Fz"),
        ("http://h/100%", "http://h/100%25"),
        ("http://h/%2f%zz", "http://h/%2f%25zz"),
        ("http://h/a[1].txt", "http://h/a%5B1%5D.txt"),
        ("http://[::1]:8080/ü", "http://[::1]:8080/%C3%BC"),
        ("http://u:p%40s@h/a%20ü", "http://u:p%40s@h/a%20%C3%BC"),
        ("http://h?a b%20", "http://h?a%20b%20"),
        ("http://h/#a#b", "http://h/#a%23b"),
    ])
    func `characters that are encoded already are not encoded again`(_ text: String, _ url: String) throws {
        #expect(try #require(URL(encoding: text)).absoluteString == url)
    }

    @Test(arguments: [
        ("/ü%20x", "http://h/%C3%BC%20x"), ("//g/ü%20", "http://g/%C3%BC%20"), ("y z%20?q", "http://h/d/y%20z%20?q"),
    ])
    func `a reference is encoded in the same way`(_ text: String, _ url: String) throws {
        let base = try #require(URL(string: "http://h/d/e"))
        #expect(try #require(URL(encoding: text, relativeTo: base)).absoluteURL.absoluteString == url)
    }
}
