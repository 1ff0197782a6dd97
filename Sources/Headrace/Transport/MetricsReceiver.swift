/// Receives the metrics of a request when it ends; compared by identity.
package final class MetricsReceiver: Sendable, Hashable {
    private let body: @Sendable (RequestMetrics) -> Void

    package init(_ body: @escaping @Sendable (RequestMetrics) -> Void) {
        self.body = body
    }

    /// Passes the metrics on, from any thread.
    func receive(_ metrics: RequestMetrics) { body(metrics) }

    package static func == (left: MetricsReceiver, right: MetricsReceiver) -> Bool { left === right }

    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
