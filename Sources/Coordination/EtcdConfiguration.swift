// SPDX-License-Identifier: Apache-2.0

public import Basics

/// Where an etcd is and who we are there.
public struct EtcdConfiguration: Sendable, Hashable {
    /// A user of etcd.
    public struct User: Sendable, Hashable {
        /// Its name.
        public var name: String
        /// Its password.
        public var password: Secret

        /// A name and its password.
        public init(name: String, password: Secret) {
            (self.name, self.password) = (name, password)
        }
    }

    /// The client URLs of the members, `http://host:2379` or `https://…`, in the order in which they are tried; at least one.
    public var members: [String]
    /// Who we are; nil where etcd asks no one.
    public var user: User?
    /// A PEM file of certificates that are trusted in addition to the system's.
    public var authorityFile: String?
    /// A PEM file of our certificate; with `keyFile`, or nil.
    public var certificateFile: String?
    /// A PEM file of its private key.
    public var keyFile: String?
    /// How long a member may take for a renewal; the next one is asked then.
    public var renewalLimit: Duration
    /// How long a member may take for anything else.
    public var requestLimit: Duration
    /// How long a watch may be silent; it is then begun again, which a member that hangs does not answer.
    public var silenceLimit: Duration

    /// A configuration with each part given.
    public init(
        members: [String],
        user: User? = nil,
        authorityFile: String? = nil,
        certificateFile: String? = nil,
        keyFile: String? = nil,
        renewalLimit: Duration = .seconds(1),
        requestLimit: Duration = .seconds(3),
        silenceLimit: Duration = .seconds(60)
    ) {
        precondition(!members.isEmpty, "an etcd without members")
        self.members = members
        self.user = user
        self.authorityFile = authorityFile
        self.certificateFile = certificateFile
        self.keyFile = keyFile
        self.renewalLimit = renewalLimit
        self.requestLimit = requestLimit
        self.silenceLimit = silenceLimit
    }
}
