// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP1

/// Looks at what the framework's type of a request does not hold: its version, every `Host`, the authority in its target.
///
/// Lives in the connection's pipeline before the codec that makes this type, on its event loop.
final class RequestHeadGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// A request with several `Host` fields, or one of HTTP/1.1 without any (RFC 9112 section 3.2).
    struct HostViolation: Error {}

    /// Whether the requests that are not answered yet are older than HTTP/1.1.
    private var unanswered = CircularBuffer<Bool>()
    private var isRefused = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !self.isRefused else { return }
        guard case .head(var head) = self.unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        let isOld = (head.version.major, head.version.minor) < (1, 1)
        self.unanswered.append(isOld)
        let hosts = head.headers["Host"].count
        guard hosts == 1 || hosts == 0 && isOld else {
            self.isRefused = true
            return context.fireErrorCaught(HostViolation())
        }
        // It counts, whatever the field says (RFC 9112 section 3.2.2).
        if let authority = Self.authority(of: head.uri) { head.headers.replaceOrAdd(name: "Host", value: authority) }
        // A client of HTTP/1.0 knows the end of an answer by the end of the connection.
        if isOld { head.headers.replaceOrAdd(name: "Connection", value: "close") }
        context.fireChannelRead(self.wrapInboundOut(.head(head)))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var data = data
        switch self.unwrapOutboundIn(data) {
        case .head(var head):
            // The encoder makes chunks for HTTP/1.1 only.
            if self.unanswered.first == true { head.version = .http1_0 }
            data = self.wrapOutboundOut(.head(head))
        case .body: break
        case .end: _ = self.unanswered.popFirst()
        }
        context.write(data, promise: promise)
    }

    /// The authority of a target in absolute form (RFC 9112 section 3.2.2); nil for other forms.
    private static func authority(of target: String) -> String? {
        guard target.first != "/", let scheme = target.firstRange(of: "://") else { return nil }
        return String(target[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" })
    }
}
