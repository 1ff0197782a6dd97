// Stands in for Dispatch on Apple platforms, as far as the package uses it: declarations without behavior.

public struct DispatchQoS: Sendable {
    public static var unspecified: DispatchQoS { DispatchQoS() }
    public static var userInitiated: DispatchQoS { DispatchQoS() }
}

open class DispatchQueue: @unchecked Sendable {
    public struct Attributes: OptionSet, Sendable {
        public let rawValue: UInt64
        public init(rawValue: UInt64) { self.rawValue = rawValue }
        public static let concurrent = Attributes(rawValue: 1)
    }
    public static var main: DispatchQueue { DispatchQueue(label: "") }
    public class func global() -> DispatchQueue { main }
    public init(label: String, qos: DispatchQoS = .unspecified, attributes: Attributes = []) {}
    public func async(execute work: @escaping @Sendable () -> Void) {}
    public func sync<T>(execute work: () throws -> T) rethrows -> T { try work() }
}

public struct DispatchTime: Sendable {
    public static func now() -> DispatchTime { DispatchTime() }
}

public enum DispatchTimeInterval: Sendable {
    case seconds(Int), milliseconds(Int), microseconds(Int), nanoseconds(Int), never
}

public func + (time: DispatchTime, interval: DispatchTimeInterval) -> DispatchTime { time }

public func + (time: DispatchTime, seconds: Double) -> DispatchTime { time }

@frozen public enum DispatchTimeoutResult: Sendable { case success, timedOut }

open class DispatchGroup: @unchecked Sendable {
    public init() {}
    public func enter() {}
    public func leave() {}
    public func wait() {}
}

open class DispatchSemaphore: @unchecked Sendable {
    public init(value: Int) {}
    @available(*, noasync) public func wait() {}
    @available(*, noasync) public func wait(timeout: DispatchTime) -> DispatchTimeoutResult { .success }
    @discardableResult public func signal() -> Int { 0 }
}

public protocol DispatchSourceProtocol: AnyObject {
    func setEventHandler(handler: (() -> Void)?)
    func setCancelHandler(handler: (() -> Void)?)
    func setRegistrationHandler(handler: (() -> Void)?)
    func activate()
    func resume()
    func cancel()
}

public protocol DispatchSourceSignal: DispatchSourceProtocol {}

public protocol DispatchSourceRead: DispatchSourceProtocol {}

public protocol DispatchSourceFileSystemObject: DispatchSourceProtocol {}

private final class Source: DispatchSourceSignal, DispatchSourceRead, DispatchSourceFileSystemObject {
    func setEventHandler(handler: (() -> Void)?) {}
    func setCancelHandler(handler: (() -> Void)?) {}
    func setRegistrationHandler(handler: (() -> Void)?) {}
    func activate() {}
    func resume() {}
    func cancel() {}
}

public enum DispatchSource {
    public struct FileSystemEvent: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }
        public static let delete = FileSystemEvent(rawValue: 1)
        public static let write = FileSystemEvent(rawValue: 2)
        public static let rename = FileSystemEvent(rawValue: 32)
    }
    public static func makeFileSystemObjectSource(
        fileDescriptor: Int32,
        eventMask: FileSystemEvent,
        queue: DispatchQueue? = nil
    ) -> any DispatchSourceFileSystemObject { Source() }
    public static func makeReadSource(
        fileDescriptor: Int32,
        queue: DispatchQueue? = nil
    ) -> any DispatchSourceRead { Source() }
    public static func makeSignalSource(
        signal: Int32,
        queue: DispatchQueue? = nil
    ) -> any DispatchSourceSignal { Source() }
}
