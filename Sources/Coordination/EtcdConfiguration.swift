// SPDX-License-Identifier: Apache-2.0

public import Basics
public import HTTPRequests

/// The members of an etcd, and the proof that they ask clients for.
public struct EtcdConfiguration: Sendable, Hashable {
    /// A user of etcd.
    public struct User: Sendable, Hashable {
        /// The name.
        public var name: String
        /// The password.
        public var password: Secret

        /// A name and a password.
        public init(name: String, password: Secret) {
            (self.name, self.password) = (name, password)
        }
    }

    /// The client URLs of the members, `http://host:2379` or `https://…`, in the order in which the client tries them; one or
    /// more.
    public var members: [String]
    /// The user; nil if the etcd has none.
    public var user: User?
    /// A PEM file of certificates that are trusted in addition to the system's.
    public var authorityFile: String?
    /// The client's certificate (mutual TLS); nil if the etcd does not ask for one.
    public var identity: HTTPClient.Identity?
    /// Limit of one try of a renewal.
    public var renewalLimit: Duration
    /// Limit of one try of any other request.
    public var requestLimit: Duration
    /// Limit of a watch's silence.
    ///
    /// The client then resumes it, and leaves the member if that does not answer.
    public var silenceLimit: Duration

    /// A configuration with each part given.
    public init(
        members: [String],
        user: User? = nil,
        authorityFile: String? = nil,
        identity: HTTPClient.Identity? = nil,
        renewalLimit: Duration = .seconds(1),
        requestLimit: Duration = .seconds(3),
        silenceLimit: Duration = .seconds(60)
    ) {
        precondition(!members.isEmpty, "an etcd without members")
        self.members = members
        self.user = user
        self.authorityFile = authorityFile
        self.identity = identity
        self.renewalLimit = renewalLimit
        self.requestLimit = requestLimit
        self.silenceLimit = silenceLimit
    }
}
