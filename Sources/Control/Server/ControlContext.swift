// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Hummingbird
import NIOCore

/// Context that comes with a request but is not in it: the connection.
struct ControlContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// The client's address without its port; empty if it has none.
    let clientAddress: String

    init(source: ApplicationRequestContextSource) {
        self.coreContext = CoreRequestContextStorage(source: source)
        self.clientAddress = source.channel.remoteAddress?.ipAddress ?? ""
    }
}
