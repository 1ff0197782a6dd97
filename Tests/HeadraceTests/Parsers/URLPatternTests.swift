import Testing

@testable import Headrace

@Suite(.timeLimit(.minutes(4)))
struct URLPatternTests {
    @Test(arguments: [
        ("http://h/a", ["http://h/a"]), ("", [""]),
        ("http://h/[1-3]", ["http://h/1", "http://h/2", "http://h/3"]),
        ("h/[08-11].x", ["h/08.x", "h/09.x", "h/10.x", "h/11.x"]), ("h/[1-10:4]", ["h/1", "h/5", "h/9"]),
        ("h/[a-c]", ["h/a", "h/b", "h/c"]), ("h/[5-5]", ["h/5"]),
        ("{http,https}://h/{a,}", ["http://h/a", "http://h/", "https://h/a", "https://h/"]),
        ("h/{a,b}[1-2]", ["h/a1", "h/a2", "h/b1", "h/b2"]),
        ("http://[::1]:80/x", ["http://[::1]:80/x"]), ("h/{id}", ["h/{id}"]), ("h/a[1]", ["h/a[1]"]),
        ("h/[a-5]", ["h/[a-5]"]), ("h/[1-2", ["h/[1-2"]), ("h/}]", ["h/}]"]), ("h/[1-9:0]", ["h/[1-9:0]"]),
        ("h/[1-2-3]", ["h/[1-2-3]"]), ("h/{a", ["h/{a"]),
    ])
    func `a pattern stands for its URLs, and other brackets for themselves`(_ text: String, urls: [String]) throws {
        #expect(try URLPattern.expanded(text) == urls)
    }

    @Test(arguments: [
        ("h/[3-1]", "[3-1]: the range ends before it begins."),
        ("h/[1-200000]", "A URL stands for more than 100000 URLs."),
        ("h/[0-9223372036854775807]", "A URL stands for more than 100000 URLs."),
        ("h/[1-999]/[1-999]", "A URL stands for more than 100000 URLs."),
        ("h/[1-100000][1-2]", "A URL stands for more than 100000 URLs."),
        ("h/[1-100001]", "A URL stands for more than 100000 URLs."),
    ])
    func `a range that is reversed or too long is rejected`(_ text: String, message: String) {
        #expect(throws: DownloadError(.invalidRequest, message)) { try URLPattern.expanded(text) }
    }

    @Test(arguments: ["h/[1-100000]", "h/[1-50000]/[1-2]", "h/{\(String(repeating: ",", count: 99_999))}"])
    func `a URL may stand for the maximum number of URLs`(_ text: String) throws {
        #expect(try URLPattern.expanded(text).count == URLPattern.maxCount)
    }
}
