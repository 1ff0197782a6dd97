// Stands in for Security on Apple platforms, as far as the package uses it: declarations without behavior.
//
// Without Objective-C there is no bridging, so that the types of Core Foundation are those of Swift here.

@_exported import Foundation

public typealias OSStatus = Int32
public typealias CFData = Data
public typealias CFArray = [SecCertificate]
public typealias CFString = String
public typealias CFIndex = Int

public final class CFError: Error, @unchecked Sendable {}

public let errSecSuccess: OSStatus = 0

public func CFErrorCopyDescription(_ error: CFError) -> CFString { "" }
public func SecCertificateCreateWithData(_ allocator: AnyObject?, _ data: CFData) -> SecCertificate? { nil }
public func SecCertificateCopyData(_ certificate: SecCertificate) -> CFData { CFData() }
public func SecTrustSetAnchorCertificates(_ trust: SecTrust, _ anchorCertificates: CFArray?) -> OSStatus { 0 }
public func SecTrustSetAnchorCertificatesOnly(_ trust: SecTrust, _ anchorCertificatesOnly: Bool) -> OSStatus { 0 }
public func SecTrustEvaluateAsyncWithError(
    _ trust: SecTrust,
    _ queue: DispatchQueue,
    _ result: @escaping @Sendable (SecTrust, Bool, CFError?) -> Void
) -> OSStatus { 0 }
public func SecTrustCopyCertificateChain(_ trust: SecTrust) -> CFArray? { nil }
