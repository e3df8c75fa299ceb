// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Hummingbird
import Model

extension Endpoints {
    private struct SessionState: Encodable {
        var required: Bool
        var authenticated: Bool
        var scopes: [String]

        init(required: Bool, client: Gatekeeper.Client?) {
            self.required = required
            self.authenticated = client != nil
            self.scopes = client?.scopes.map(\.rawValue).sorted() ?? []
        }
    }

    /// Whether the page must ask for a token, and what its visitor may do.
    func showSession(_ call: Call) -> Reply {
        Reply(json: SessionState(required: !self.gatekeeper.isOpen, client: call.client))
    }

    /// Trades a token for a cookie.
    func openSession(_ call: Call) throws(Problem) -> Reply {
        let secret = try RequestBodies.secret(call.body)
        guard !self.gatekeeper.isOpen else {
            return Reply(json: SessionState(required: false, client: call.client))
        }
        let (client, cookie) = try self.gatekeeper.openSession(secret: secret, address: call.address, now: call.now)
        return Reply(json: SessionState(required: true, client: client))
            .with(.setCookie, self.cookie(cookie, seconds: BrowserSessions.lifetime.components.seconds))
    }

    /// Ends the login of the cookie that was sent.
    func closeSession(_ call: Call) -> Reply {
        if let cookie = call.request.cookies[BrowserSessions.cookieName]?.value {
            self.gatekeeper.closeSession(cookie)
        }
        return Reply.noContent.with(.setCookie, self.cookie("", seconds: 0))
    }

    /// Scripts cannot read the cookie, and no other site's page can have it sent.
    private func cookie(_ value: String, seconds: Int64) -> String {
        "\(BrowserSessions.cookieName)=\(value); Path=/; Max-Age=\(seconds); HttpOnly; SameSite=Strict"
            + (self.cookieIsSecure ? "; Secure" : "")
    }
}
