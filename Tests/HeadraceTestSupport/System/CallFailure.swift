import HeadracePlatform

/// A failed system call of the test support.
package struct CallFailure: Error, Hashable, CustomStringConvertible {
    /// The name of the call, with its object if there is one.
    package let call: String
    /// The call's `errno`.
    package let code: Int32

    /// Describes the failure in the current `errno`.
    init(_ call: String) {
        self.init(call, code: errno)
    }

    init(_ call: String, code: Int32) {
        self.call = call
        self.code = code
    }

    /// The call and the system's description of the error.
    package var description: String {
        guard let words = strerror(code) else { return "\(call): error \(code)" }
        return "\(call): \(String(cString: words))"
    }
}
