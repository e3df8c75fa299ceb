// SPDX-License-Identifier: Apache-2.0

public import Logging
public import Signalling

/// The one way from a room to what joins it.
///
/// There is no list of protocols here: the URL's scheme has chosen one of `RoomURL.protocols`, whose address makes the
/// machine, and one client drives every machine.
public enum Signallers {
    /// A signaller that has yet to run.
    ///
    /// - Parameter logger: Gets the keys of the room and server; carries what the caller put there, such as the session.
    public static func signaller(
        for request: JoinRequest,
        environment: SignallerEnvironment = SignallerEnvironment(),
        logger: Logger
    ) -> any Signaller {
        self.client(request.url.address, request.options, environment, logger)
    }

    private static func client<Address: RoomAddress>(
        _ address: Address,
        _ options: SignallingOptions,
        _ environment: SignallerEnvironment,
        _ logger: Logger
    ) -> any Signaller {
        MachineClient(address, options: options, environment: environment, logger: logger)
    }
}
