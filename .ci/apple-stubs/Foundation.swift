// Stands in for Foundation on Apple platforms, as far as the package uses it: declarations without behavior.

@_exported import Darwin
@_exported import Dispatch

// MARK: Objects

open class NSObject: Hashable {
    public init() {}
    // Objective-C's, so that a requirement of one of these names collides here as well.
    @available(*, unavailable) open func release() {}
    @available(*, unavailable) open func retain() -> Self { self }
    @available(*, unavailable) open func autorelease() -> Self { self }
    public static func == (a: NSObject, b: NSObject) -> Bool { a === b }
    public func hash(into hasher: inout Hasher) {}
}

open class NSError: NSObject, Error, @unchecked Sendable {
    public init(domain: String, code: Int, userInfo: [String: Any]? = nil) {}
    open var domain: String { "" }
    open var code: Int { 0 }
    open var userInfo: [String: Any] { [:] }
    open var localizedDescription: String { "" }
}

public func _convertErrorToNSError(_ error: any Error) -> NSError { NSError(domain: "", code: 0) }

extension Error {
    public var localizedDescription: String { "" }
}

public protocol LocalizedError: Error {
    var errorDescription: String? { get }
}

extension LocalizedError {
    public var errorDescription: String? { nil }
}

public struct CocoaError: Error {
    public struct Code: Sendable, Hashable {
        public static var featureUnsupported: Code { Code() }
    }
    public init(_ code: Code, userInfo: [String: Any] = [:]) {}
    public var code: Code { Code() }
}

open class OperationQueue: NSObject, @unchecked Sendable {
    open var maxConcurrentOperationCount: Int { get { 0 } set {} }
    open func addOperation(_ block: @escaping @Sendable () -> Void) {}
}

open class Bundle: NSObject, @unchecked Sendable {
    open class var main: Bundle { Bundle() }
    open var executablePath: String? { nil }
    open var bundleURL: URL { URL(filePath: "") }
}

open class ProcessInfo: NSObject, @unchecked Sendable {
    open class var processInfo: ProcessInfo { ProcessInfo() }
    open var environment: [String: String] { [:] }
    open var arguments: [String] { [] }
    open var processIdentifier: Int32 { 0 }
    open var activeProcessorCount: Int { 0 }
    open var hostName: String { "" }
}

// MARK: Files

public struct FileAttributeKey: RawRepresentable, Sendable, Hashable {
    public var rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public static let size = FileAttributeKey(rawValue: "")
    public static let posixPermissions = FileAttributeKey(rawValue: "")
    public static let modificationDate = FileAttributeKey(rawValue: "")
}

public struct URLResourceKey: RawRepresentable, Sendable, Hashable {
    public var rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public static let volumeAvailableCapacityForImportantUsageKey = URLResourceKey(rawValue: "")
    public static let isDirectoryKey = URLResourceKey(rawValue: "")
    public static let fileSizeKey = URLResourceKey(rawValue: "")
}

public struct URLResourceValues: Sendable {
    #if !os(tvOS) && !os(watchOS)
    public var volumeAvailableCapacityForImportantUsage: Int64? { nil }
    #endif
    public var isDirectory: Bool? { nil }
    public var fileSize: Int? { nil }
}

open class FileManager: NSObject, @unchecked Sendable {
    public struct DirectoryEnumerationOptions: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }
    }
    open class DirectoryEnumerator: NSObject, Sequence, IteratorProtocol {
        open func next() -> Any? { nil }
    }
    open class var `default`: FileManager { FileManager() }
    #if os(macOS)
    open var homeDirectoryForCurrentUser: URL { URL(filePath: "") }
    #endif
    open var temporaryDirectory: URL { URL(filePath: "") }
    open var currentDirectoryPath: String { "" }
    open func createDirectory(
        at url: URL,
        withIntermediateDirectories createIntermediates: Bool,
        attributes: [FileAttributeKey: Any]? = nil
    ) throws {}
    open func createDirectory(
        atPath path: String,
        withIntermediateDirectories createIntermediates: Bool,
        attributes: [FileAttributeKey: Any]? = nil
    ) throws {}
    open func removeItem(at URL: URL) throws {}
    open func removeItem(atPath path: String) throws {}
    open func moveItem(at srcURL: URL, to dstURL: URL) throws {}
    open func moveItem(atPath srcPath: String, toPath dstPath: String) throws {}
    open func copyItem(at srcURL: URL, to dstURL: URL) throws {}
    open func fileExists(atPath path: String) -> Bool { false }
    open func isExecutableFile(atPath path: String) -> Bool { false }
    open func createSymbolicLink(at url: URL, withDestinationURL destURL: URL) throws {}
    open func createSymbolicLink(atPath path: String, withDestinationPath destPath: String) throws {}
    open func contentsOfDirectory(atPath path: String) throws -> [String] { [] }
    open func contentsOfDirectory(at url: URL, includingPropertiesForKeys keys: [URLResourceKey]?) throws -> [URL] { [] }
    open func subpathsOfDirectory(atPath path: String) throws -> [String] { [] }
    open func attributesOfItem(atPath path: String) throws -> [FileAttributeKey: Any] { [:] }
    open func setAttributes(_ attributes: [FileAttributeKey: Any], ofItemAtPath path: String) throws {}
    open func enumerator(
        at url: URL,
        includingPropertiesForKeys keys: [URLResourceKey]?,
        options mask: DirectoryEnumerationOptions = []
    ) -> DirectoryEnumerator? { nil }
    open func enumerator(atPath path: String) -> DirectoryEnumerator? { nil }
}

open class FileHandle: NSObject, @unchecked Sendable {
    public convenience init(forWritingTo url: URL) throws { self.init() }
    public convenience init(forReadingFrom url: URL) throws { self.init() }
    open func write(contentsOf data: some Sequence<UInt8>) throws {}
    open func readToEnd() throws -> Data? { nil }
    open func close() throws {}
}

// MARK: Values

public typealias TimeInterval = Double

public struct Date: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
    public struct ISO8601FormatStyle: Sendable {
        public func time(includingFractionalSeconds: Bool) -> Self { self }
    }
    public static var now: Date { Date() }
    public static var distantPast: Date { Date() }
    public static var distantFuture: Date { Date() }
    public init() {}
    public init(timeIntervalSince1970: TimeInterval) {}
    public init(timeIntervalSinceReferenceDate: TimeInterval) {}
    public init(timeIntervalSinceNow: TimeInterval) {}
    public var description: String { "" }
    public var timeIntervalSinceNow: TimeInterval { 0 }
    public var timeIntervalSince1970: TimeInterval { 0 }
    public var timeIntervalSinceReferenceDate: TimeInterval { 0 }
    public func timeIntervalSince(_ other: Date) -> TimeInterval { 0 }
    public func addingTimeInterval(_ interval: TimeInterval) -> Date { self }
    public func formatted(_ style: ISO8601FormatStyle) -> String { "" }
    public func ISO8601Format() -> String { "" }
    public static func < (a: Date, b: Date) -> Bool { false }
    public static func + (a: Date, b: TimeInterval) -> Date { a }
    public static func - (a: Date, b: TimeInterval) -> Date { a }
}

extension Date.ISO8601FormatStyle {
    public static var iso8601: Self { Self() }
}

public struct UUID: Sendable, Hashable, Codable, CustomStringConvertible {
    public init() {}
    public init?(uuidString: String) {}
    public var uuidString: String { "" }
    public var description: String { "" }
}

public struct TimeZone: Sendable, Hashable {
    public init?(identifier: String) {}
    public init?(secondsFromGMT: Int) {}
    public static var current: TimeZone { TimeZone(secondsFromGMT: 0)! }
    public static var gmt: TimeZone { TimeZone(secondsFromGMT: 0)! }
    public func secondsFromGMT(for date: Date = Date()) -> Int { 0 }
}

public struct DateComponents: Sendable, Hashable {
    public init(
        calendar: Calendar? = nil,
        timeZone: TimeZone? = nil,
        year: Int? = nil,
        month: Int? = nil,
        day: Int? = nil,
        hour: Int? = nil,
        minute: Int? = nil,
        second: Int? = nil,
        weekday: Int? = nil
    ) {}
    public var year: Int? { get { nil } set {} }
    public var month: Int? { get { nil } set {} }
    public var day: Int? { get { nil } set {} }
    public var hour: Int? { get { nil } set {} }
    public var minute: Int? { get { nil } set {} }
    public var second: Int? { get { nil } set {} }
    public var weekday: Int? { get { nil } set {} }
    public var date: Date? { nil }
}

public struct Calendar: Sendable, Hashable {
    public enum Identifier: Sendable { case gregorian, iso8601 }
    public enum Component: Sendable { case era, year, month, day, hour, minute, second, weekday }
    public init(identifier: Identifier) {}
    public static var current: Calendar { Calendar(identifier: .gregorian) }
    public var timeZone: TimeZone { get { .current } set {} }
    public func date(from components: DateComponents) -> Date? { nil }
    public func date(byAdding component: Component, value: Int, to date: Date) -> Date? { nil }
    public func dateComponents(_ components: Set<Component>, from date: Date) -> DateComponents { DateComponents() }
    public func component(_ component: Component, from date: Date) -> Int { 0 }
    public func startOfDay(for date: Date) -> Date { date }
}

public protocol ContiguousBytes {
    func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R
}

extension [UInt8]: ContiguousBytes {}

public struct Data: Sendable, Hashable, Codable, RandomAccessCollection, MutableCollection, RangeReplaceableCollection, ContiguousBytes {
    public struct WritingOptions: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }
        public static let atomic = WritingOptions(rawValue: 1)
    }
    public init() {}
    public init(_ elements: some Sequence<UInt8>) {}
    public init(repeating repeatedValue: UInt8, count: Int) {}
    public init?(base64Encoded: String) {}
    public init(contentsOf: URL) throws {}
    public var startIndex: Int { 0 }
    public var endIndex: Int { 0 }
    public var regions: CollectionOfOne<Data> { CollectionOfOne(self) }
    public subscript(index: Int) -> UInt8 { get { 0 } set {} }
    public subscript(bounds: Range<Int>) -> Data { get { self } set {} }
    public func base64EncodedString() -> String { "" }
    public func write(to url: URL, options: WritingOptions = []) throws {}
    public mutating func replaceSubrange(_ range: Range<Int>, with elements: some Collection<UInt8>) {}
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try body(UnsafeRawBufferPointer(start: nil, count: 0))
    }
}

public struct URL: Sendable, Hashable, Codable, CustomStringConvertible {
    public enum DirectoryHint: Sendable { case isDirectory, notDirectory, checkFileSystem, inferFromPath }
    public static var homeDirectory: URL { URL(filePath: "") }
    public static var temporaryDirectory: URL { URL(filePath: "") }
    public static func currentDirectory() -> URL { URL(filePath: "") }
    public init?(string: String) {}
    public init?(string: String, relativeTo: URL?) {}
    public init(filePath: String, directoryHint: DirectoryHint = .inferFromPath, relativeTo: URL? = nil) {}
    public init(fileURLWithPath: String) {}
    public init(fileURLWithPath: String, isDirectory: Bool) {}
    public init(fileURLWithPath: String, relativeTo: URL?) {}
    public init(fileURLWithPath: String, isDirectory: Bool, relativeTo: URL?) {}
    public var description: String { "" }
    public var absoluteString: String { "" }
    public var absoluteURL: URL { self }
    public var relativeString: String { "" }
    public var relativePath: String { "" }
    public var baseURL: URL? { nil }
    public var scheme: String? { nil }
    public var host: String? { nil }
    public var query: String? { nil }
    public var isFileURL: Bool { false }
    public var port: Int? { nil }
    public var lastPathComponent: String { "" }
    public var pathComponents: [String] { [] }
    public var pathExtension: String { "" }
    public var path: String { "" }
    public var standardized: URL { self }
    public var standardizedFileURL: URL { self }
    public var hasDirectoryPath: Bool { false }
    public func host(percentEncoded: Bool = true) -> String? { nil }
    public func path(percentEncoded: Bool = true) -> String { "" }
    public func query(percentEncoded: Bool = true) -> String? { nil }
    public func fragment(percentEncoded: Bool = true) -> String? { nil }
    public func user(percentEncoded: Bool = true) -> String? { nil }
    public func password(percentEncoded: Bool = true) -> String? { nil }
    public func appending(path: some StringProtocol, directoryHint: DirectoryHint = .inferFromPath) -> URL { self }
    public func appending(component: some StringProtocol, directoryHint: DirectoryHint = .inferFromPath) -> URL { self }
    public func appendingPathExtension(_ pathExtension: String) -> URL { self }
    public func deletingLastPathComponent() -> URL { self }
    public func deletingPathExtension() -> URL { self }
    public func resolvingSymlinksInPath() -> URL { self }
    public func resourceValues(forKeys keys: Set<URLResourceKey>) throws -> URLResourceValues { URLResourceValues() }
    public func withUnsafeFileSystemRepresentation<R>(_ body: (UnsafePointer<CChar>?) throws -> R) rethrows -> R {
        try body(nil)
    }
}

public struct URLQueryItem: Sendable, Hashable {
    public var name: String { get { "" } set {} }
}

public struct URLComponents: Sendable, Hashable {
    public var percentEncodedQueryItems: [URLQueryItem]? { get { nil } set {} }
    public init() {}
    public init?(string: String) {}
    public init?(url: URL, resolvingAgainstBaseURL: Bool) {}
    public var url: URL? { nil }
    public var string: String? { nil }
    public var scheme: String? { get { nil } set {} }
    public var host: String? { get { nil } set {} }
    public var encodedHost: String? { get { nil } set {} }
    public var port: Int? { get { nil } set {} }
    public var user: String? { get { nil } set {} }
    public var password: String? { get { nil } set {} }
    public var path: String { get { "" } set {} }
    public var query: String? { get { nil } set {} }
    public var fragment: String? { get { nil } set {} }
    public var percentEncodedUser: String? { get { nil } set {} }
    public var percentEncodedPassword: String? { get { nil } set {} }
    public var percentEncodedPath: String { get { "" } set {} }
    public var percentEncodedQuery: String? { get { nil } set {} }
    public var percentEncodedFragment: String? { get { nil } set {} }
}

// MARK: Texts

public struct CharacterSet: Sendable {
    public static var urlPathAllowed: CharacterSet { CharacterSet() }
    public static var urlQueryAllowed: CharacterSet { CharacterSet() }
    public static var whitespaces: CharacterSet { CharacterSet() }
    public static var whitespacesAndNewlines: CharacterSet { CharacterSet() }
}

extension String {
    public struct Encoding: Sendable, Hashable {
        public static let utf8 = Encoding()
        public static let isoLatin1 = Encoding()
        public static let ascii = Encoding()
    }
    public init(contentsOf url: URL, encoding: Encoding) throws { self = "" }
    public init(contentsOfFile path: String, encoding: Encoding) throws { self = "" }
    public init?(bytes: some Sequence<UInt8>, encoding: Encoding) { nil }
    public init?(data: Data, encoding: Encoding) { nil }
    public init(format: String, _ arguments: any CVarArg...) { self = "" }
    public func data(using encoding: Encoding) -> Data? { nil }
}

extension StringProtocol {
    public var removingPercentEncoding: String? { nil }
    public var precomposedStringWithCanonicalMapping: String { "" }
    public var decomposedStringWithCanonicalMapping: String { "" }
    public func addingPercentEncoding(withAllowedCharacters: CharacterSet) -> String? { nil }
    public func components(separatedBy separator: some StringProtocol) -> [String] { [] }
    public func trimmingCharacters(in: CharacterSet) -> String { "" }
    public func replacingOccurrences(of: some StringProtocol, with: some StringProtocol) -> String { "" }
    public func write(to url: URL, atomically: Bool, encoding: String.Encoding) throws {}
    public func write(toFile path: String, atomically: Bool, encoding: String.Encoding) throws {}
}

open class JSONEncoder: @unchecked Sendable {
    public struct OutputFormatting: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }
        public static let prettyPrinted = OutputFormatting(rawValue: 1)
        public static let sortedKeys = OutputFormatting(rawValue: 2)
        public static let withoutEscapingSlashes = OutputFormatting(rawValue: 4)
    }
    public init() {}
    open var outputFormatting: OutputFormatting { get { [] } set {} }
    open func encode(_ value: some Encodable) throws -> Data { Data() }
}

open class JSONDecoder: @unchecked Sendable {
    public init() {}
    open func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T { throw CocoaError(.featureUnsupported) }
}

// MARK: Progress

public struct ProgressKind: RawRepresentable, Sendable, Hashable {
    public var rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public static let file = ProgressKind(rawValue: "")
}

public struct ProgressUserInfoKey: RawRepresentable, Sendable, Hashable {
    public var rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public static let estimatedTimeRemainingKey = ProgressUserInfoKey(rawValue: "")
    public static let throughputKey = ProgressUserInfoKey(rawValue: "")
    public static let fileOperationKindKey = ProgressUserInfoKey(rawValue: "")
    public static let fileURLKey = ProgressUserInfoKey(rawValue: "")
}

open class Progress: NSObject, @unchecked Sendable {
    public struct FileOperationKind: RawRepresentable, Sendable, Hashable {
        public var rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public static let downloading = FileOperationKind(rawValue: "")
    }
    public convenience init(totalUnitCount unitCount: Int64) { self.init() }
    open var kind: ProgressKind? { get { nil } set {} }
    open var totalUnitCount: Int64 { get { 0 } set {} }
    open var completedUnitCount: Int64 { get { 0 } set {} }
    open var isPausable: Bool { get { true } set {} }
    open var isCancellable: Bool { get { true } set {} }
    open var isCancelled: Bool { false }
    open var isFinished: Bool { false }
    open var isPaused: Bool { false }
    open var isIndeterminate: Bool { false }
    open var fractionCompleted: Double { 0 }
    open var userInfo: [ProgressUserInfoKey: Any] { [:] }
    open var throughput: Int? { get { nil } set {} }
    open var estimatedTimeRemaining: TimeInterval? { get { nil } set {} }
    open var fileURL: URL? { get { nil } set {} }
    open var cancellationHandler: (@Sendable () -> Void)? { get { nil } set {} }
    open var pausingHandler: (@Sendable () -> Void)? { get { nil } set {} }
    open var resumingHandler: (@Sendable () -> Void)? { get { nil } set {} }
    open func setUserInfoObject(_ objectOrNil: Any?, forKey key: ProgressUserInfoKey) {}
    open func addChild(_ child: Progress, withPendingUnitCount inUnitCount: Int64) {}
    open func cancel() {}
    open func pause() {}
    open func resume() {}
}
