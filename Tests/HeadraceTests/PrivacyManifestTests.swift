import Foundation
import Testing

/// The declarations that the App Store requires for certain system functions.
@Suite(.timeLimit(.minutes(4)))
struct PrivacyManifestTests {
    private static let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Sources")

    /// The names in Apple's list, by category.
    private static let names = [
        "FileTimestamp": [
            "stat", "fstat", "fstatat", "lstat", "getattrlist", "getattrlistbulk", "fgetattrlist", "getattrlistat",
            "creationDate", "modificationDate", "fileModificationDate", "contentModificationDateKey",
            "creationDateKey",
        ],
        "DiskSpace": [
            "statfs", "statvfs", "fstatfs", "fstatvfs", "getattrlist", "fgetattrlist", "getattrlistat",
            "systemFreeSize",
            "systemSize", "volumeAvailableCapacityKey", "volumeAvailableCapacityForImportantUsageKey",
            "volumeAvailableCapacityForOpportunisticUsageKey", "volumeTotalCapacityKey",
        ],
        "SystemBootTime": ["systemUptime", "mach_absolute_time"],
        "ActiveKeyboards": ["activeInputModes"],
        "UserDefaults": ["UserDefaults"],
    ]

    @Test func `the privacy manifest declares exactly the categories whose functions are called`() throws {
        let words = try Self.words(in: ["Headrace", "HeadraceFoundation", "HeadracePlatform", "CHeadrace"])
        let used = Self.names.filter { !words.isDisjoint(with: $0.value) }.map(\.key).sorted()
        #expect(used == ["DiskSpace", "FileTimestamp"])
        let declared = Set(try Self.declarations().map(\.category))
        #expect(declared.sorted() == used.map { "NSPrivacyAccessedAPICategory\($0)" })
    }

    @Test func `each category has its reasons, and nothing is tracked or collected`() throws {
        let declarations = try Self.declarations()
        #expect(declarations.map(\.reasons) == [["C617.1", "3B52.1"], ["E174.1"]])
        let text = try Self.manifest().filter { !$0.isWhitespace }
        #expect(text.contains("<key>NSPrivacyTracking</key><false/>"))
        #expect(text.contains("<key>NSPrivacyTrackingDomains</key><array/>"))
        #expect(text.contains("<key>NSPrivacyCollectedDataTypes</key><array/>"))
    }

    private static func manifest() throws -> String {
        try String(contentsOf: sources.appending(path: "Headrace/PrivacyInfo.xcprivacy"), encoding: .utf8)
    }

    /// The strings after each category are its reasons.
    private static func declarations() throws -> [(category: String, reasons: [String])] {
        var declarations: [(category: String, reasons: [String])] = []
        for part in try manifest().components(separatedBy: "<string>").dropFirst() {
            let value = String(part.prefix { $0 != "<" })
            if value.hasPrefix("NSPrivacyAccessedAPICategory") {
                declarations.append((value, []))
            } else {
                declarations[declarations.count - 1].reasons.append(value)
            }
        }
        return declarations
    }

    /// The identifiers in the sources of these targets, without comments.
    private static func words(in targets: [String]) throws -> Set<String> {
        var words: Set<String> = []
        for target in targets {
            let folder = sources.appending(path: target)
            for name in try FileManager.default.subpathsOfDirectory(atPath: folder.path)
            where [".swift", ".c", ".h"].contains(where: name.hasSuffix) {
                let text = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
                for line in text.split(separator: "\n") {
                    let code = line.components(separatedBy: "//").first ?? ""
                    words.formUnion(code.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.map(String.init))
                }
            }
        }
        return words
    }
}
