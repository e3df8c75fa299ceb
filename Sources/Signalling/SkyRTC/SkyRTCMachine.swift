// SPDX-License-Identifier: Apache-2.0

/// One room on a SkyRTC server, in the dialect of its URL.
public enum SkyRTCMachine: SignallingMachine {
    /// A mesh in which the newcomer offers.
    case classic(SkyRTCMeshStateMachine)
    /// Rooms with invitations, in which the members already present offer.
    case call(SkyRTCCallStateMachine)

    /// Takes one thing that happened, and says what to do, in order.
    public mutating func handle(_ input: SignallingInput) -> [SignallingAction] {
        switch self {
        case .classic(var machine):
            defer { self = .classic(machine) }
            return machine.handle(input)
        case .call(var machine):
            defer { self = .call(machine) }
            return machine.handle(input)
        }
    }
}

/// Human-readable errors of a SkyRTC server.
struct SkyRTCFailures: Sendable {
    private let address: String

    init(address: String) {
        self.address = address
    }

    /// The server took the connection or the message and said nothing.
    func unanswered(_ what: String) -> SignallingError {
        SignallingError(
            .timedOut,
            "The server at \(self.address) did not answer \(what): check the room URL's path and dialect.",
            blame: .peer
        )
    }

    /// The WebSocket is closed.
    ///
    /// - Parameter isMember: Whether the room had taken us.
    func closed(_ error: SignallingError?, isMember: Bool) -> SignallingError {
        error
            ?? SignallingError(
                .unreachable,
                isMember
                    ? "The server at \(self.address) closed the connection."
                    : "The server at \(self.address) closed the connection instead of letting us in: the room may be full.",
                blame: .peer
            )
    }

    /// The handshake was answered with another status.
    func refused(status: Int) -> SignallingError {
        if HTTPAnswer.isTransient(status: status) {
            return SignallingError(
                .unreachable,
                "The server at \(self.address) answered HTTP \(status): check that the room server behind it runs.",
                blame: .peer
            )
        }
        return SignallingError(
            .refused,
            "There is no WebSocket on \(self.address) at the URL's path (HTTP \(status)): wrong path or port?",
            blame: .configuration
        )
    }

    /// The room takes no more members.
    var full: SignallingError {
        SignallingError(.full, "The room on \(self.address) is full.", blame: .peer)
    }
}
