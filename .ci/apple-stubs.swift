// What Apple's frameworks have and Foundation on Linux has not, as far as the library uses it: types alone, for .ci/apple.
import Foundation
import FoundationNetworking

let NSURLSessionDownloadTaskResumeData = "NSURLSessionDownloadTaskResumeData"

enum tls_protocol_version_t { case TLSv12 }

extension URLSessionConfiguration {
    static func background(withIdentifier: String) -> URLSessionConfiguration { .default }
    var sharedContainerIdentifier: String? { get { nil } set {} }
    var waitsForConnectivity: Bool { get { false } set {} }
    var tlsMinimumSupportedProtocolVersion: tls_protocol_version_t { get { .TLSv12 } set {} }
}

extension URLRequest {
    var allowsExpensiveNetworkAccess: Bool { get { true } set {} }
    var allowsConstrainedNetworkAccess: Bool { get { true } set {} }
}

final class SecTrust: Sendable {}
final class SecCertificate: Sendable {}
typealias CFData = NSData
typealias CFArray = NSArray
typealias CFString = NSString
final class CFError: NSObject, Error {}
let errSecSuccess: Int32 = 0

func SecCertificateCreateWithData(_ allocator: AnyObject?, _ data: CFData) -> SecCertificate? { nil }
func SecTrustSetAnchorCertificates(_ trust: SecTrust, _ anchors: CFArray) -> Int32 { 0 }
func SecTrustSetAnchorCertificatesOnly(_ trust: SecTrust, _ isOnly: Bool) -> Int32 { 0 }
func SecTrustEvaluateWithError(_ trust: SecTrust, _ error: UnsafeMutablePointer<CFError?>?) -> Bool { false }
func SecTrustCopyCertificateChain(_ trust: SecTrust) -> CFArray? { nil }
func SecCertificateCopyData(_ certificate: SecCertificate) -> CFData { NSData() }
func CFErrorCopyDescription(_ error: CFError) -> CFString { NSString() }

extension URLProtectionSpace {
    var serverTrust: SecTrust? { nil }
}

extension URLCredential {
    convenience init(trust: SecTrust) { self.init(user: "", password: "", persistence: .none) }
}
