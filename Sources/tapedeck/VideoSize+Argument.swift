// SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
public import Basics

extension VideoSize: ExpressibleByArgument {
    /// A size that a camera may send.
    public init?(argument: String) {
        guard let size = VideoSize(argument), size.isSendable else { return nil }
        self = size
    }

    /// For help texts.
    public var defaultValueDescription: String { self.description }
}
