// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// One header field (RFC 9110 section 5).
public struct HTTPField: Sendable, Hashable {
    /// The name; compared without regard to case.
    public var name: String
    /// The value.
    public var value: String

    /// A field with both parts given.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// The HTTP request that a machine asks for.
public struct HTTPRequest: Sendable, Hashable {
    /// The machine's name for the request, by which it recognises the answer; several may be under way, each with a
    /// separate name.
    public struct ID: Hashable, Sendable, RawRepresentable {
        /// The name.
        public let rawValue: String

        /// A request's name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }
    }

    /// The name.
    public var id: ID
    /// GET, POST, PATCH, DELETE or OPTIONS.
    public var method: String
    /// Where; its scheme is http or https.
    public var url: WebURL
    /// Headers; `Host`, `User-Agent` and the length are added.
    public var headers: [HTTPField]
    /// The body; nil sends none.
    public var body: [UInt8]?
    /// Limit from the first byte of the request to the last of the answer.
    public var timeout: Duration

    /// A request with each part given.
    public init(
        _ id: ID,
        method: String,
        url: WebURL,
        headers: [HTTPField] = [],
        body: [UInt8]? = nil,
        timeout: Duration = .seconds(10)
    ) {
        self.id = id
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
    }
}

/// A server's answer; redirects are answers too.
public struct HTTPAnswer: Sendable, Hashable {
    /// Largest body taken, in bytes; more is a failed request.
    public static let maximumBodyBytes = JSONValue.maximumBytes

    /// The status code.
    public var status: Int
    /// The headers in the order of the wire.
    public var headers: [HTTPField]
    /// The body.
    public var body: [UInt8]

    /// An answer with each part given.
    public init(status: Int, headers: [HTTPField] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The values of a header, without regard to case.
    public func values(of name: String) -> [String] {
        let name = name.lowercased()
        return self.headers.filter { $0.name.lowercased() == name }.map(\.value)
    }

    /// The body as text; nil if it is not UTF-8.
    public var text: String? { String(validating: self.body, as: UTF8.self) }

    /// Whether the status says success.
    public var isSuccess: Bool { (200...299).contains(self.status) }

    /// Whether a status says "not now" instead of "no", as that of a proxy does whose server restarts.
    static func isTransient(status: Int) -> Bool { status >= 500 || status == 408 || status == 429 }
}
