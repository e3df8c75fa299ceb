// SPDX-License-Identifier: Apache-2.0

internal import EmbeddedFiles
import NIOHTTP1

/// The pages of the server: everything but Engine.IO.
enum PageResponder {
    /// Permissions of the page: only its own files, only its own server.
    ///
    /// Nothing is inline. Not every browser counts a WebSocket of the same server as `'self'`.
    private static let contentSecurityPolicy =
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' ws: wss:; img-src data:; "
        + "media-src 'self' blob:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

    /// Answers a request by method and path.
    /// - Parameter health: The body for `/healthz`, a JSON object.
    static func response(method: HTTPMethod, path: String, health: () -> String) -> HTTPResponse {
        let response: HTTPResponse
        switch path {
        case "/", "/index.html": response = self.page("text/html; charset=utf-8", "index.html")
        case "/room.js": response = self.page("text/javascript; charset=utf-8", "room.js")
        case "/room.css": response = self.page("text/css; charset=utf-8", "room.css")
        // Pages say that they have no icon; browsers that show something else ask for one all the same.
        case "/favicon.ico": return .text(.notFound)
        case "/healthz":
            var answer = HTTPResponse(.ok, type: "application/json", body: health().utf8)
            answer.headers.add(name: "Cache-Control", value: "no-store")
            response = answer
        default:
            // A room's own address, which people share: the page takes the name from it.
            guard !path.dropFirst().contains("/") else { return .text(.notFound) }
            response = self.page("text/html; charset=utf-8", "index.html")
        }
        return method == .GET || method == .HEAD ? response : .methodNotAllowed(allowed: "GET, HEAD")
    }

    private static func page(_ type: String, _ name: String) -> HTTPResponse {
        guard let file = EmbeddedFile.room.first(where: { $0.name == name }) else { return .text(.notFound) }
        var response = HTTPResponse(.ok, type: type, body: file.bytes)
        response.headers.add(name: "Cache-Control", value: "no-cache")
        response.headers.add(name: "Content-Security-Policy", value: self.contentSecurityPolicy)
        response.headers.add(name: "Referrer-Policy", value: "no-referrer")
        return response
    }
}
