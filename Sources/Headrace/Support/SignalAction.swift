import HeadracePlatform

/// Queries how the process handles a signal; used by the command-line tool.
package enum SignalAction {
    /// Whether the process ignores a signal at the moment, for example because `nohup` started it.
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
