/// How the server ends an answer or a connection.
package enum Ending: Sendable, Hashable {
    /// An orderly close.
    case fin
    /// A reset, after what was sent before has reached the client's kernel.
    case reset
    /// Silence: the connection stays open until the client closes it or the server is taken down.
    case stall
}
