/// The rules of the configuration and of one request for the addresses that the request may connect to; both must allow
/// an address.
struct AddressRule: Sendable {
    private let isAllowed: (@Sendable (IPAddress) -> Bool)?
    private let requiresPublicAddress: Bool

    init(_ configuration: borrowing DownloadConfiguration, _ request: borrowing TransportRequest) {
        isAllowed = configuration.allowsAddress
        requiresPublicAddress = request.requiresPublicAddress
    }

    /// Returns whether the request may connect to an address.
    ///
    /// `nil` stands for an address that is not an IP address, which is allowed only if there are no rules.
    func allows(_ address: IPAddress?) -> Bool {
        guard isAllowed != nil || requiresPublicAddress else { return true }
        guard let address, address.isPublic || !requiresPublicAddress else { return false }
        return isAllowed?(address) ?? true
    }
}
