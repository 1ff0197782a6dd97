import HeadracePlatform

/// What the process does with a signal; for programs of our own, a library leaves it as it is.
package enum SignalAction {
    /// Whether whoever started the process chose that it is to ignore the signal, as `nohup` does.
    package static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        sigaction(number, nil, &action)
        #if canImport(Glibc)
        let handler = action.__sigaction_handler.sa_handler
        #elseif canImport(Musl)
        let handler = action.__sa_handler.sa_handler
        #else
        let handler = action.__sigaction_u.__sa_handler
        #endif
        // Functions cannot be compared in Swift.
        return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
