import Headrace
import HeadracePlatform
import Testing

@testable import HeadraceCLI

@Suite(.timeLimit(.minutes(4)))
struct JSONLinesTests {
    private static let file = URL(filePath: "/d/a \"b\".bin")
    private static let summary = DownloadSummary(
        file: file,
        fileSize: 3,
        bytesFetched: 4,
        duration: .milliseconds(1500),
        isLengthVerified: false
    )

    @Test(arguments: [
        (DownloadEvent.started, #""started","id":"00ff","url":"http://h/x"}"#),
        (
            .redirected(status: 302, from: makeURL("http://u:p@h/x"), to: makeURL("http://u:p@m/y")),
            #""redirected","id":"00ff","url":"http://h/x","status":302,"from":"http://h/x","to":"http://m/y"}"#
        ),
        (
            .responded(status: 200, totalBytes: 5, file: file),
            #""responded","id":"00ff","url":"http://h/x","status":200,"totalBytes":5,"file":"/d/a \"b\".bin"}"#
        ),
        (
            .responded(status: 200, totalBytes: nil, file: file),
            #""responded","id":"00ff","url":"http://h/x","status":200,"totalBytes":null,"file":"/d/a \"b\".bin"}"#
        ),
        (.limited(by: .connectionRate), #""limited","id":"00ff","url":"http://h/x","reason":"connectionRate"}"#),
        (.limited(by: nil), #""limited","id":"00ff","url":"http://h/x","reason":null}"#),
        (.skipped(file), #""skipped","id":"00ff","url":"http://h/x","file":"/d/a \"b\".bin"}"#),
        (.unchanged(file), #""unchanged","id":"00ff","url":"http://h/x","file":"/d/a \"b\".bin"}"#),
        (
            .finished(summary),
            #""finished","id":"00ff","url":"http://h/x","file":"/d/a \"b\".bin","fileSize":3,"bytesFetched":4,"#
                + #""seconds":1.5,"isLengthVerified":false,"checksum":null}"#
        ),
        (
            .failed(DownloadError(.httpStatus, "No.", statusCode: 404)),
            #""failed","id":"00ff","url":"http://h/x","code":"httpStatus","message":"No.","statusCode":404,"#
                + #""exitStatus":4}"#
        ),
        (
            .failed(DownloadError(.tls, "No.")),
            #""failed","id":"00ff","url":"http://h/x","code":"tls","message":"No.","statusCode":null,"exitStatus":3}"#
        ),
        (.cancelled, #""cancelled","id":"00ff","url":"http://h/x"}"#),
    ])
    func `each event is one object on one line`(_ event: DownloadEvent, rest: String) throws {
        let line = JSONLines.line(for: event, of: .connecting())
        #expect(line == #"{"event":"# + rest)
        #expect(try JSONDecoder().decode(Head.self, from: Data(line.utf8)).id == "00ff")
    }

    @Test(arguments: [
        (DownloadProgress.half, #""totalBytes":104857600,"bytesPerSecond":10485760,"secondsRemaining":5.0}"#),
        (
            DownloadProgress(bytesReceived: 50 << 20, bytesPerSecond: .infinity),
            #""totalBytes":null,"bytesPerSecond":0,"secondsRemaining":null}"#
        ),
    ])
    func `progress is one object on one line`(_ progress: DownloadProgress, rest: String) {
        let line = JSONLines.progressLine(of: .running(progress))
        #expect(line == #"{"event":"progress","id":"00ff","url":"http://h/x","bytesReceived":52428800,"# + rest)
    }

    @Test(arguments: ["", "\"\\/", "a\u{0}\u{1F}\u{7F}\u{9B}\n\r\t", "日本 👩\u{200D}🚀 \u{2028}"])
    func `any text survives encoding on one line`(_ text: String) throws {
        let line = (["id": text] as JSONObject).text
        #expect(try JSONDecoder().decode(Head.self, from: Data(line.utf8)).id == text)
        #expect(!line.unicodeScalars.contains { $0.properties.generalCategory == .control })
    }

    @Test
    func `an object may be empty, and numbers are numbers`() {
        let empty: JSONObject = [:]
        #expect((empty + empty).text == "{}")
        let numbers: JSONObject = ["a": Double.nan, "b": 0.0004, "c": 2.0, "d": Int64.max]
        #expect((empty + numbers + empty).text == #"{"a":null,"b":0.0,"c":2.0,"d":9223372036854775807}"#)
        #expect((numbers + numbers).text.matches(of: /,"a":/).count == 1)
    }

    private struct Head: Decodable {
        let id: String
    }
}
