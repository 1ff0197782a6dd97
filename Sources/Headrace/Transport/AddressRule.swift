/// Decides to which addresses a request may connect: the configuration and the request must both allow an address.
struct AddressRule: Sendable {
    private let isAllowed: (@Sendable (IPAddress) -> Bool)?
    private let requiresPublicAddress: Bool

    init(_ configuration: borrowing DownloadConfiguration, _ request: borrowing TransportRequest) {
        isAllowed = configuration.allowsAddress
        requiresPublicAddress = request.requiresPublicAddress
    }

    /// Returns whether the request may connect to an address.
    ///
    /// `nil` stands for an address that is not an IP address. It is allowed only if neither the configuration nor the
    /// request restricts addresses.
    func allows(_ address: IPAddress?) -> Bool {
        guard isAllowed != nil || requiresPublicAddress else { return true }
        guard let address, address.isPublic || !requiresPublicAddress else { return false }
        return isAllowed?(address) ?? true
    }
}
