/// How the server ends a response or a connection.
package enum Ending: Sendable, Hashable {
    /// An orderly close.
    case fin
    /// A reset, once the client's kernel has received everything sent before.
    case reset
    /// Silence: the connection stays open until the client closes it or the server stops.
    case stall
}
