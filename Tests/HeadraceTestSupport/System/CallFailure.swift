import HeadracePlatform

/// A system call of the test support that did not succeed.
package struct CallFailure: Error, Hashable, CustomStringConvertible {
    /// The name of the call, with its object where it has one.
    package let call: String
    /// The call's `errno`.
    package let code: Int32

    /// Describes the failure that `errno` holds at this moment.
    init(_ call: String) {
        self.init(call, code: errno)
    }

    init(_ call: String, code: Int32) {
        self.call = call
        self.code = code
    }

    /// The call and the system's words for what went wrong.
    package var description: String {
        guard let words = strerror(code) else { return "\(call): error \(code)" }
        return "\(call): \(String(cString: words))"
    }
}
