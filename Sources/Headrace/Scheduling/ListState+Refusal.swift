/// A host that takes no more downloads than it sends.
extension ListState {
    /// What is gone on with of a download that is to be tried again.
    ///
    /// That its host takes no more at the moment is no failure while it sends another one, at whose end there is room.
    func forgiving(_ attempts: Attempts, of id: Download.ID) -> Attempts {
        guard let host = attempts.refusingHost else { return attempts }
        let isSending = queue.running.contains { other in
            guard other != id, let record = records[other], record.status.progress.bytesPerSecond > 0 else {
                return false
            }
            return record.requested { HostConnections.host(of: $0.url) } == host
        }
        guard isSending else { return attempts }
        var attempts = attempts
        attempts.forgive()
        return attempts
    }
}
